package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/diag"
)

// spans formats diagnostics as code, range and path, with the underlined text.
func spans(source string, list diag.List) []string {
	var out []string
	for _, d := range list {
		line := fmt.Sprintf("%s %d:%d-%d:%d %s", d.Code, d.Line, d.Column, d.EndLine, d.EndColumn, d.Path)
		out = append(out, strings.TrimSpace(line)+" |"+underlined(source, d.Span)+"|")
	}
	return out
}

// underlined returns the text of a span, or of its first line if it has several.
func underlined(source string, s diag.Span) string {
	all := strings.Split(strings.TrimPrefix(source, "\ufeff"), "\n")
	if s.Line < 1 || s.Line > len(all) {
		return "?"
	}
	runes := []rune(strings.TrimSuffix(all[s.Line-1], "\r"))
	end := s.EndColumn - 1
	if s.EndLine != s.Line {
		end = len(runes)
	}
	if s.Column-1 > len(runes) || end > len(runes) || end < s.Column-1 {
		return fmt.Sprintf("outside of %q", string(runes))
	}
	return string(runes[s.Column-1 : end])
}

const (
	oneProvider = "providers: {p: {type: echo}}\n"
	oneModel    = "models: {m: {provider_id: p, upstream_model: x}}\n"
)

// Every code that loading reports, at its exact place.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing wrong": {"version: 1\n" + oneProvider + oneModel + "agents: {a: {model_id: m}}\n", nil},

		// invalid-yaml
		"a syntax error":         {"version: 1\nagents: [1\nmodels: {}\n", []string{"invalid-yaml 3:7-3:8 |:|"}},
		"a tab":                  {"version: 1\nagents:\n\ta: {}\n", []string{"invalid-yaml 3:1-3:2 |\t|"}},
		"an unclosed quote":      {"version: 1\nagents: \"a\n", []string{`invalid-yaml 2:9-2:10 |"|`}},
		"an unknown alias":       {"version: 1\nagents: *x\n", []string{"invalid-yaml 2:9-2:10 |*|"}},
		"an alias of itself":     {"version: 1\nagents: &x {a: *x}\n", []string{"invalid-yaml 2:16-2:18 |*x|"}},
		"two documents":          {"version: 1\n---\nversion: 1\n", []string{"invalid-yaml 2:1-2:4 |---|"}},
		"a repeated key":         {"version: 1\nagents: {a: {model_id: m, max_rounds: 1, max_rounds: 2}}\n", []string{"invalid-yaml 2:42-2:52 |max_rounds|"}},
		"a repeated top key":     {"version: 1\nagents: {}\nagents: {}\n", []string{"invalid-yaml 3:1-3:7 |agents|"}},
		"a key that is a number": {"version: 1\nagents: {a: {model_id: m, sections: {12: {}}}}\n", []string{"invalid-yaml 2:38-2:40 |12|"}},
		"a key that is a list":   {"version: 1\nagents: {[a]: {}}\n", []string{"invalid-yaml 2:10-2:13 |[a]|"}},
		"a tag":                  {"version: 1\nagents: {a: {model_id: !!binary aGk=}}\n", []string{"invalid-yaml 2:33-2:37 |aGk=|"}},
		"a tag for a record":     {"version: 1\nmodels: {m: !!binary aGk=}\n", []string{"invalid-yaml 2:22-2:26 |aGk=|"}},
		"a tag for a number":     {"version: 1\nagents: {a: {model_id: m, max_rounds: !!int 5}}\n", []string{"invalid-yaml 2:45-2:46 |5|"}},
		"a tag for a list":       {"version: 1\nagents: {a: {model_id: m, allowed_tools: !!set {t: }}}\n", []string{"invalid-yaml 2:48-2:53 |{t: }|"}},
		"a tag for a registry":   {"version: 1\nagents: !x a\n", []string{"invalid-yaml 2:12-2:13 |a|"}},
		"a tag of the version":   {"version: !!int 1\n", []string{"invalid-yaml 1:16-1:17 |1|"}},
		"a custom tag":           {"version: 1\nagents: {a: {model_id: !ref m}}\n", []string{"invalid-yaml 2:29-2:30 |m|"}},
		"a bad merge key":        {"version: 1\nagents: {a: {<<: 3, model_id: m}}\n", []string{"invalid-yaml 2:18-2:19 |3|"}},
		"a control character":    {"version: 1\nagents: \x01\n", []string{"invalid-yaml 2:9-2:10 |\x01|"}},
		"NUL":                    {"version: 1\n\x00", []string{"invalid-yaml 2:1-2:2 |\x00|"}},
		"invalid UTF-8":          {"version: 1\n# é\xff\n", []string{"invalid-yaml 2:4-2:5 |\uFFFD|"}},
		"UTF-16":                 {"\xff\xfev\x00", []string{"invalid-yaml 1:1-1:1 ||"}},
		"UTF-16, little-endian":  {"v\x00e\x00r\x00s\x00i\x00o\x00n\x00:\x00 \x001\x00\n\x00", []string{"invalid-yaml 1:1-1:1 ||"}},
		"UTF-16, big-endian":     {"\x00v\x00e\x00r\x00s\x00i\x00o\x00n\x00:\x00 \x001\x00\n", []string{"invalid-yaml 1:1-1:1 ||"}},
		"UTF-16, a long comment": {"#\x00" + strings.Repeat("\xe4\x00", 300), []string{"invalid-yaml 1:1-1:1 ||"}},

		// unsupported-version
		"no version":          {"agents: {bogus: 1}\n", []string{"unsupported-version 1:1-1:1 version ||"}},
		"an empty file":       {"", []string{"unsupported-version 1:1-1:1 version ||"}},
		"only a comment":      {"# hello\n", []string{"unsupported-version 1:1-1:1 version ||"}},
		"another version":     {"version: 2\nagnets: {}\n", []string{"unsupported-version 1:10-1:11 version |2|"}},
		"a version in quotes": {"version: \"1\"\n", []string{"unsupported-version 1:10-1:13 version |\"1\"|"}},
		"a list":              {"- version: 1\n", []string{"invalid-value 1:1-1:13 |- version: 1|"}},

		// unknown-field
		"an unknown top key":      {"version: 1\nagentz: {}\n", []string{"unknown-field 2:1-2:7 agentz |agentz|"}},
		"an unknown agent field":  {"version: 1\nagents: {a: {model_id: m, max_round: 3}}\n", []string{"unknown-field 2:27-2:36 agents.a.max_round |max_round|"}},
		"a misspelled required":   {"version: 1\nmodels: {m: {providr_id: p, upstream_model: x}}\n", []string{"unknown-field 2:14-2:24 models.m.providr_id |providr_id|"}},
		"a misspelled type":       {"version: 1\ntools: {t: {typ: command, command: [x]}}\n", []string{"unknown-field 2:13-2:16 tools.t.typ |typ|"}},
		"a field of another type": {"version: 1\nagents: {a: {model_id: m, stop_conditions: [{type: timeout, timeout: 1s, rounds: 3}]}}\n", []string{"unknown-field 2:74-2:80 agents.a.stop_conditions[0].rounds |rounds|"}},
		"a default endpoint":      {"version: 1\ndefaults: {endpoint: {}}\n", []string{"unknown-field 2:12-2:20 defaults.endpoint |endpoint|"}},
		"an id":                   {"version: 1\nagents: {a: {id: a, model_id: m}}\n", []string{"unknown-field 2:14-2:16 agents.a.id |id|"}},

		// missing-field
		"no model":            {"version: 1\nagents:\n  a:\n    max_rounds: 1\n", []string{"missing-field 3:3-3:4 agents.a.model_id |a|"}},
		"no required field":   {"version: 1\nmodels:\n  m: {provider_id: p}\n", []string{"missing-field 3:3-3:4 models.m.upstream_model |m|"}},
		"a required null":     {"version: 1\nmodels: {m: {provider_id: , upstream_model: x}}\n", []string{"missing-field 2:14-2:25 models.m.provider_id |provider_id|"}},
		"a required empty":    {"version: 1\nmodels: {m: {provider_id: \"\", upstream_model: x}}\n", []string{"missing-field 2:14-2:25 models.m.provider_id |provider_id|"}},
		"a required empty id": {"version: 1\nagents: {a: {model_id: m, stop_conditions: [{type: ''}]}}\n", []string{"invalid-value 2:52-2:54 agents.a.stop_conditions[0].type |''|"}},
		"a step without id":   {"version: 1\nworkflows: {w: {steps: [{id: '', tool: {name: t}}]}}\n", []string{"invalid-value 2:30-2:32 workflows.w.steps[0].id |''|"}},
		"no type":             {"version: 1\nproviders: {p: {}}\n", []string{"missing-field 2:13-2:14 providers.p.type |p|"}},
		"in a list":           {"version: 1\nmodel_pools: {p: {members: [{weight: 1}]}}\n", []string{"missing-field 2:29-2:40 model_pools.p.members[0].model_id |{weight: 1}|"}},
		"in a nested record":  {"version: 1\nagents: {a: {endpoint: {}}}\n", []string{"missing-field 2:14-2:22 agents.a.endpoint.base_url |endpoint|"}},
		"no name of a source": {"version: 1\nremote_agents: [{base_url: \"http://x\"}]\n", []string{"missing-field 2:17-2:39 remote_agents[0].name |{base_url: \"http://x\"}|"}},
		"no condition type":   {"version: 1\nagents: {a: {model_id: m, stop_conditions: [{max: 3}]}}\n", []string{"missing-field 2:45-2:53 agents.a.stop_conditions[0].type |{max: 3}|"}},

		// invalid-value
		"a text for a number":     {"version: 1\nagents: {a: {model_id: m, max_rounds: '3'}}\n", []string{"invalid-value 2:39-2:42 agents.a.max_rounds |'3'|"}},
		"a number for a text":     {"version: 1\nmodels: {m: {provider_id: p, upstream_model: x, knowledge_cutoff: 2024}}\n", []string{"invalid-value 2:67-2:71 models.m.knowledge_cutoff |2024|"}},
		"a fraction":              {"version: 1\nagents: {a: {model_id: m, max_rounds: 1.5}}\n", []string{"invalid-value 2:39-2:42 agents.a.max_rounds |1.5|"}},
		"too small":               {"version: 1\nagents: {a: {model_id: m, max_rounds: -1}}\n", []string{"invalid-value 2:39-2:41 agents.a.max_rounds |-1|"}},
		"not in the enum":         {"version: 1\nagents: {a: {model_id: m, tool_execution: parallell}}\n", []string{"invalid-value 2:43-2:52 agents.a.tool_execution |parallell|"}},
		"in a list of enums":      {"version: 1\nmodels: {m: {provider_id: p, upstream_model: x, modalities: {input: [text, smell]}}}\n", []string{"invalid-value 2:76-2:81 models.m.modalities.input[1] |smell|"}},
		"a bare time":             {"version: 1\ntools: {t: {type: command, command: [x], timeout: 10}}\n", []string{"invalid-value 2:51-2:53 tools.t.timeout |10|"}},
		"a bad time":              {"version: 1\ntools: {t: {type: command, command: [x], timeout: 10 s}}\n", []string{"invalid-value 2:51-2:55 tools.t.timeout |10 s|"}},
		"a negative time":         {"version: 1\ntools: {t: {type: command, command: [x], timeout: -1s}}\n", []string{"invalid-value 2:51-2:54 tools.t.timeout |-1s|"}},
		"two spellings":           {"version: 1\ntools: {t: {type: command, command: [x], timeout: 1s, timeout_ms: 5}}\n", []string{"invalid-value 2:55-2:65 tools.t.timeout_ms |timeout_ms|"}},
		"a text for a list":       {"version: 1\nagents: {a: {model_id: m, delegates: b}}\n", []string{"invalid-value 2:38-2:39 agents.a.delegates |b|"}},
		"null in a list":          {"version: 1\nagents: {a: {model_id: m, delegates: [~]}}\n", []string{"invalid-value 2:39-2:40 agents.a.delegates[0] |~|"}},
		"an unknown type":         {"version: 1\nproviders: {p: {type: vendr}}\n", []string{"invalid-value 2:23-2:28 providers.p.type |vendr|"}},
		"a registry of no sort":   {"version: 1\nagents: [a]\n", []string{"invalid-value 2:9-2:12 agents |[a]|"}},
		"an entry of no sort":     {"version: 1\nagents:\n  a: 3\n", []string{"invalid-value 3:6-3:7 agents.a |3|"}},
		"an empty entry":          {"version: 1\nagents:\n  a:\n", []string{"invalid-value 3:3-3:4 agents.a |a|"}},
		"an unclosed reference":   {"version: 1\nagents: {a: {model_id: m, description: \"${X\"}}\n", []string{"invalid-value 2:40-2:45 agents.a.description |\"${X\"|"}},
		"a bad reference":         {"version: 1\nagents: {a: {model_id: m, description: \"${a-b}\"}}\n", []string{"invalid-value 2:40-2:48 agents.a.description |\"${a-b}\"|"}},
		"a missing file":          {"version: 1\nagents: {a: {model_id: m, description: \"${file:none}\"}}\n", []string{"invalid-value 2:40-2:54 agents.a.description |\"${file:none}\"|"}},
		"a missing prompt":        {"version: 1\nagents: {a: {model_id: m, system_prompt: {file: none.md}}}\n", []string{"invalid-value 2:49-2:56 agents.a.system_prompt.file |none.md|"}},
		"infinity":                {"version: 1\nproviders: {p: {type: echo, delay: .inf}}\n", []string{"invalid-value 2:36-2:40 providers.p.delay |.inf|"}},
		"an octal number":         {"version: 1\nagents: {a: {model_id: m, max_rounds: 010}}\n", []string{"invalid-value 2:39-2:42 agents.a.max_rounds |010|"}},
		"a number in a section":   {"version: 1\nagents: {a: {model_id: m, sections: {x: {y: [.nan]}}}}\n", []string{"invalid-value 2:46-2:50 agents.a.sections.x.y[0] |.nan|"}},
		"a level":                 {"version: 1\nagents: {a: {model_id: m, reasoning_effort: lo}}\n", []string{"invalid-value 2:45-2:47 agents.a.reasoning_effort |lo|"}},
		"a budget":                {"version: 1\nagents: {a: {model_id: m, reasoning_effort: {budget: 0}}}\n", []string{"invalid-value 2:54-2:55 agents.a.reasoning_effort.budget |0|"}},
		"a type that reads text":  {"version: 1\ntools: {t: {type: command, command: [x], level: mid}}\n", []string{"invalid-value 2:49-2:52 tools.t.level |mid|"}},
		"what a record says":      {"version: 1\ntools: {t: {type: command, command: [self, x]}}\n", []string{"invalid-value 2:38-2:42 tools.t.command[0] |self|"}},
		"too few":                 {"version: 1\ntools: {t: {type: command, command: []}}\n", []string{"invalid-value 2:37-2:39 tools.t.command |[]|"}},
		"too large for its type":  {"version: 1\ntools: {t: {type: command, command: [x], retries: 256}}\n", []string{"invalid-value 2:51-2:54 tools.t.retries |256|"}},
		"a record in the context": {"version: 1\nagents: {a: {model_id: m, context_policy: {max_context_tokens: 5, max_output_tokens: 5}}}\n", []string{"invalid-value 2:86-2:87 agents.a.context_policy.max_output_tokens |5|"}},

		// duplicate-id
		"an agent twice":   {"version: 1\nagents:\n  a: {model_id: m}\n  a: {model_id: m}\n", []string{"duplicate-id 4:3-4:4 agents.a |a|"}},
		"a model and pool": {"version: 1\nmodels: {m: {provider_id: p, upstream_model: x}}\nmodel_pools: {m: {members: [{model_id: n}]}}\n", []string{"duplicate-id 3:15-3:16 model_pools.m |m|"}},
		"two sources":      {"version: 1\nremote_agents:\n- {name: a, base_url: \"http://x\"}\n- {name: a, base_url: \"http://y\"}\n", []string{"duplicate-id 4:10-4:11 remote_agents[1].name |a|"}},

		// invalid-id
		"an agent id": {"version: 1\nagents: {a/b: {model_id: m}}\n", []string{"invalid-id 2:10-2:13 agents.a/b |a/b|"}},
		"a tool id":   {"version: 1\ntools: {a.b: {type: command, command: [x]}}\n", []string{"invalid-id 2:9-2:12 tools[\"a.b\"] |a.b|"}},
		"a source id": {"version: 1\nremote_agents: [{name: a b, base_url: \"http://x\"}]\n", []string{"invalid-id 2:24-2:27 remote_agents[0].name |a b|"}},
		"an empty id": {"version: 1\nmodels: {\"\": {provider_id: p, upstream_model: x}}\n", []string{"invalid-id 2:10-2:12 models[\"\"] |\"\"|"}},

		// unset-variable and nothing else
		"an unset key":      {"version: 1\nproviders: {p: {type: vendor, api_key: ${KEY}}}\n", []string{"unset-variable 2:40-2:46 providers.p.api_key |${KEY}|"}},
		"an unset url":      {"version: 1\nagents: {a: {endpoint: {base_url: \"${URL}\"}}}\n", []string{"unset-variable 2:35-2:43 agents.a.endpoint.base_url |\"${URL}\"|"}},
		"an unset enum":     {"version: 1\nagents: {a: {model_id: m, tool_execution: $$${HOW}}}\n", []string{"unset-variable 2:43-2:51 agents.a.tool_execution |$$${HOW}|"}},
		"an unset duration": {"version: 1\ntools: {t: {type: command, command: [x], timeout: ${T}}}\n", []string{"unset-variable 2:51-2:55 tools.t.timeout |${T}|"}},
		"an unset model":    {"version: 1\nagents: {a: {model_id: ${M}}}\n", []string{"unset-variable 2:24-2:28 agents.a.model_id |${M}|"}},

		// invalid-endpoint, reported by the record
		"a bad scheme": {"version: 1\nagents: {a: {endpoint: {base_url: ftp://x}}}\n", []string{"invalid-endpoint 2:35-2:42 agents.a.endpoint.base_url |ftp://x|"}},
		"no endpoint":  {"version: 1\nagents: {a: {endpoint: 3}}\n", []string{"invalid-value 2:24-2:25 agents.a.endpoint |3|"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, list := parseDocument(t, tt.text)
			if diff := cmp.Diff(tt.want, spans(tt.text, list)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s\n%s", diff, shows(list))
			}
		})
	}
}

// Places are counted in characters, whatever surrounds them.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"after characters of several bytes": {
			"version: 1\nagents: {ä: {модель: 1, \"日本\": \"😀\"}}\n",
			[]string{"invalid-id 2:10-2:11 agents[\"ä\"] |ä|", "missing-field 2:10-2:11 agents[\"ä\"].model_id |ä|", "unknown-field 2:14-2:20 agents[\"ä\"][\"модель\"] |модель|", "unknown-field 2:25-2:29 agents[\"ä\"][\"日本\"] |\"日本\"|"},
		},
		"after a byte order mark": {"\ufeffversion: 2\n", []string{"unsupported-version 1:10-1:11 version |2|"}},
		"with CRLF": {
			"version: 1\r\nagents:\r\n  a:\r\n    model_id: 3\r\n    description: |\r\n      a\r\n      b ${\r\n",
			[]string{"invalid-value 4:15-4:16 agents.a.model_id |3|", "invalid-value 5:18-7:11 agents.a.description |||"},
		},
		"after a tab":              {"version: 1\nagents: {a:\t{model_id:\t3}}\n", []string{"invalid-value 2:24-2:25 agents.a.model_id |3|"}},
		"after a Unicode line end": {"version: 1\nagents: {a: {model_id: \"a\u2028b\"}}\nversion2: 3\n", []string{"unknown-field 3:1-3:9 version2 |version2|"}},
		"with an anchor and a tag": {"version: 1\nagents: {a: {model_id: &x !!str \"${\"}}\n", []string{"invalid-value 2:33-2:37 agents.a.model_id |\"${\"|"}},
		"of a plain text over lines": {
			"version: 1\nagents:\n  a:\n    model_id: a ${\n      b\n\n      c # end\n",
			[]string{"invalid-value 4:15-7:8 agents.a.model_id |a ${|"},
		},
		"of a quoted text over lines": {
			"version: 1\nagents:\n  a:\n    model_id: 'it''s ${\n      b'\n",
			[]string{"invalid-value 4:15-5:9 agents.a.model_id |'it''s ${|"},
		},
		"of escapes": {"version: 1\nagents: {a: {model_id: \"\\\"${\\u00e9\"}}\n", []string{"invalid-value 2:24-2:36 agents.a.model_id |\"\\\"${\\u00e9\"|"}},
		"of a literal block": {
			"version: 1\nagents:\n  a:\n    model_id: |  # c\n\n      a\n        ${\n\n      b\n\n    max_rounds: 1\n",
			[]string{"invalid-value 4:15-9:8 agents.a.model_id ||  # c|"},
		},
		"of a folded block": {
			"version: 1\nagents:\n  a:\n    model_id: >-\n      a\n      ${\n\n      b\n    max_rounds: 1\n",
			[]string{"invalid-value 4:15-8:8 agents.a.model_id |>-|"},
		},
		"of a flow collection over lines": {
			"version: 1\nagents:\n  a:\n    model_id: [ a, '], [', # ]\n      {b: \"}\"}]\n",
			[]string{"invalid-value 4:15-5:16 agents.a.model_id |[ a, '], [', # ]|"},
		},
		"of a block collection": {
			"version: 1\nagents:\n  a:\n    model_id:\n      - a\n      - b: [1,\n          2]\n    max_rounds: 1\n",
			[]string{"invalid-value 5:7-7:13 agents.a.model_id |- a|"},
		},
		"in an aliased value": {
			"version: 1\nagents:\n  a: &a {model_id: m, max_rounds: x}\n  b: *a\n  c: {<<: *a, model_id: n}\n",
			[]string{"invalid-value 3:35-3:36 agents.a.max_rounds |x|"},
		},
		"in JSON": {
			"{\n  \"version\": 1,\n  \"agents\": {\"a\": {\"model_id\": 3}}\n}\n",
			[]string{"invalid-value 3:32-3:33 agents.a.model_id |3|"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, list := parseDocument(t, tt.text)
			if diff := cmp.Diff(tt.want, spans(tt.text, list)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s\n%s", diff, shows(list))
			}
		})
	}
}
