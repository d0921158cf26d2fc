package config_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

func FuzzParse(f *testing.F) {
	f.Add("version: 1\n" + oneProvider + oneModel + "agents: {a: {model_id: m, allowed_tools: , sections: {x: ${Y}}}}\n")
	f.Add("version: 1\nagents:\n  a: &a\n    system_prompt: |\n      x\n    delegates: [a, 'b', \"c\"]\n  b:\n    <<: *a\n")
	f.Add("version: 1\ntools:\n  t: {type: command, command: [a], timeout_ms: 5, parameters: {a: 0x1f}}\n")
	f.Add("version: 1\r\n# é\u2028\nagents: {ä: {}}\r\ndefaults: {max_rounds: 1_0}\n")
	f.Add("{\"version\": 1, \"agents\": {\"a\": {\"stop_conditions\": [{\"type\": \"timeout\", \"seconds\": 1e1}]}}}")
	f.Add("version: 1\nremote_agents:\n- {name: a, base_url: x, auth: {type: bearer, token: ${T:-x}}}\n")
	f.Add("version: 1\nagents: >\n  x\n\n  y\nmodels: |2\n   x\n")
	f.Add("version: 1\nstore: {driver: postgres, dsn: \"postgres://u:${P}@h/d\", retention: {keys: 1h}}\nturns: {lease: 5s, strikes: 0}\n")
	f.Add("version: 1\nstore: &s {data_dir: x}\nturns: *s\nschedules: {s: {cron: \"*/5 1-2,3 * JAN ?\", time_zone: Asia/Tokyo, agent: a, prompt: x}}\n")
	f.Add("a: &x [*x]")
	f.Add("version: 1 # runtime: ignore no-tools x\nagents:\n  # runtime: ignore no-tools,x-y\r\n  a: '# runtime: ignore'\n")
	f.Fuzz(func(t *testing.T, text string) {
		opts := options(map[string]string{"T": "value"})
		file, list := config.Parse([]config.Source{{Name: "/nonexistent/c.yaml", Data: []byte(text)}}, opts)
		rows := strings.Count(text, "\n") + 1
		for _, d := range list {
			if d.Line < 1 || d.Line > rows || d.Column < 1 || d.EndLine < d.Line || d.EndLine == d.Line && d.EndColumn < d.Column || d.EndLine > rows {
				t.Errorf("%s is at %+v of %d lines", d.Error(), d.Span, rows)
			}
			if d.Message == "" || d.Code == "" {
				t.Errorf("%+v says nothing", d)
			}
		}
		build := diag.List{diag.New(diag.ModelNotFound, "agents.a.model_id", "x"), diag.New(diag.NoTools, "agents.a", "x")}
		for _, d := range file.Complete(list, build) {
			if d.Line < 0 {
				t.Errorf("%+v", d)
			}
		}
		all, suppressed := file.CompleteAll(list, build)
		for _, d := range all {
			if d.Code == diag.InvalidIgnore && (d.Line < 1 || d.Line > rows || d.EndLine != d.Line || d.EndColumn <= d.Column) {
				t.Errorf("%s is at %+v of %d lines", d.Error(), d.Span, rows)
			}
		}
		for _, s := range suppressed {
			if s.Reason == "" || s.Severity == diag.Error {
				t.Errorf("%+v", s)
			}
		}
		file.Source("/nonexistent/c.yaml")
	})
}
