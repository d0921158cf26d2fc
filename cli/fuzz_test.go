package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
)

// FuzzValidate validates and explains arbitrary files: nothing panics, the JSON is valid, both
// agree on validity, and every position lies in the file.
func FuzzValidate(f *testing.F) {
	example, err := os.ReadFile(filepath.Join("..", "examples", "team", "config.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add(string(initConfig))
	f.Add(head + "agents: {a: {model_id: n, sections: {permission: {default_behavior: alow}}, plugin_ids: [permision]}}\n")
	f.Add(head + "agents: {a: {endpoint: {backend: fake, base_url: \"x\"}}, b: {model_id: m, delegates: [a, b]}}\n")
	f.Add(head + "tools: {t: {type: faulty, fault: schema}}\nplugins: {x: {type: faulty, fault: register, tool: t}}\nagents: {a: {model_id: m, plugin_ids: [x]}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		call := func(args ...string) (int, string) {
			var stdout, stderr strings.Builder
			p := program{Streams: terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, Components: broken()}
			code := p.run(t.Context(), args)
			if code != command.OK && code != command.Failed {
				t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
			}
			return code, stdout.String()
		}
		code, out := call("validate", "--format", "json", file)
		var report struct {
			Valid       bool
			Diagnostics diag.List
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if report.Valid != (code == command.OK) || report.Valid == report.Diagnostics.HasErrors() {
			t.Fatalf("exit code %d for\n%s", code, out)
		}
		rows := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		for _, d := range report.Diagnostics {
			if d.Line < 1 || d.Column < 1 || d.Line > len(rows) || d.Column > len([]rune(rows[d.Line-1]))+1 || d.EndLine > len(rows) ||
				d.EndLine < d.Line || d.EndLine == d.Line && d.EndColumn < d.Column {
				t.Errorf("no such place: %+v", d)
			}
		}
		call("validate", file)
		call("explain", file, "a", "--format", "json")
		call("explain", file, "a")
		call("explain", file, "a", "--tool", "t")
	})
}
