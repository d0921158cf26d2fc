package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
)

// Other systems' names have a hint with the name used here.
func TestNamesOfOtherSystemsHaveHints(t *testing.T) {
	t.Parallel()
	const head = "version: 1\n"
	for _, tt := range []struct{ text, hint string }{
		{"agents: {a: {model: m}}", "write model_id"},
		{"agents: {a: {llm: m}}", "write model_id"},
		{"agents: {a: {modelClient: m}}", "write model_id"},
		{"agents: {a: {model_id: m, tools: [x]}}", "write allowed_tools"},
		{"agents: {a: {model_id: m, allowedTools: [x]}}", `did you mean "allowed_tools"?`},
		{"agents: {a: {model_id: m, disallowedTools: [x]}}", "write excluded_tools"},
		{"agents: {a: {model_id: m, instructions: x}}", "write system_prompt"},
		{"agents: {a: {model_id: m, system-prompt: x}}", `did you mean "system_prompt"?`},
		{"agents: {a: {model_id: m, backstory: x}}", "write system_prompt"},
		{"agents: {a: {model_id: m, max_iter: 3}}", "write max_rounds"},
		{"agents: {a: {model_id: m, maxTurns: 3}}", "write max_rounds"},
		{"agents: {a: {model_id: m, recursion_limit: 3}}", "write max_rounds"},
		{"agents: {a: {model_id: m, sub_agents: [b]}}", "write delegates"},
		{"agents: {a: {model_id: m, response_format: x}}", "write output_schema"},
		{"agents: {a: {model_id: m, middleware: [x]}}", "write plugin_ids"},
		{"agents: {a: {model_id: m, permissions: {}}}", "sections: {permission:"},
		{"agents: {a: {model_id: m, mcpServers: {}}}", "type: mcp"},
		{"agents: {a: {model_id: m, top_k: 2}}", "request: {set"},
		{"agents: {a: {model_id: m, timeout: 3s}}", "max_duration"},
		{"agents: {a: {model_id: m, name: x}}", "key under agents"},
		{"agents: {a: {model_id: m, budgets: {max_usd: 3}}}", "write max_cost"},
		{"defaults: {model: m}", "write model_id"},
		{"pools: {q: {members: [m]}}", "write model_pools"},
		{"models: {m: {provider: p, upstream_model: x}}", "write provider_id"},
		{"models: {m: {provider_id: p, model: x}}", "write upstream_model"},
		{"models: {m: {provider_id: p, deployment: x}}", "write upstream_model"},
		{"models: {m: {provider_id: p, upstream_model: x, max_tokens: 3}}", "write max_output_tokens"},
		{"models: {m: {provider_id: p, upstream_model: x, api_key: abc}}", "set this in the entry under providers"},
		{"providers: {p: {type: vendor, apiKey: abc}}", `did you mean "api_key"?`},
		{"providers: {p: {type: vendor, token: abc}}", "write api_key"},
		{"providers: {p: {kind: vendor}}", "write type"},
		{"tools: {t: {type: command, cmd: [x]}}", "write command"},
		{"tools: {t: {type: command, command: [x], args: [y]}}", "after the program"},
		{"tools: {t: {type: command, command: [x], input_schema: {}}}", "write parameters"},
		{"tools: {t: {command: npx, args: [y]}}", "type: mcp"},
		{"agents: {a: {endpoint: {url: x}}}", "write base_url"},
		{"store: {type: sqlite}", "write driver"},
		{"server: {port: 80}", "write listen"},
		{"apiVersion: v1", "write version: 1"},
		{"kind: Agent", "no kind, metadata and spec"},
		{"metadata: {name: x}", "no kind, metadata and spec"},
		{"spec: {}", "no kind, metadata and spec"},
		{"mcpServers: {}", "type: mcp"},
		{"mcp_servers: {}", "type: mcp"},
		{"llms: {}", "write models"},
		{"tasks: []", "write workflows"},
		{"crew: {}", "write agents"},
		{"permissions: {}", "sections: {permission:"},
		{"env: {}", "write ${NAME}"},
		{"agents: [{name: helper, model_id: m}]", "agents: {helper: {…}}"},
		{"agents: [{helper: {model_id: m}}]", "agents: {helper: {…}}"},
		{"agents: [helper]", "agents: {<id>: {…}}"},
		{"providers: [{type: vendor}]", "providers: {<id>: {…}}"},
		{"tools: [{id: wc, type: command}]", "tools: {wc: {…}}"},
		{"remote_agents: {cloud: {}}", "remote_agents: [{name: cloud"},
		{"tools: {t: {type: function}}", "type: command"},
		{"plugins: {p: {type: permission}}", "plugin_ids"},
	} {
		_, list := parseDocument(t, head+tt.text+"\n")
		found := false
		for _, d := range list {
			found = found || d.Severity == diag.Error && strings.Contains(d.Hint, tt.hint)
		}
		if !found {
			t.Errorf("%s: no hint %q in\n%s", tt.text, tt.hint, hints(list))
		}
	}
}

func hints(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.Error() + "\n")
	}
	return b.String()
}

// Lookalike and invisible characters are named with their positions.
func TestOddCharactersAreNamed(t *testing.T) {
	t.Parallel()
	const agent = "version: 1\nagents:\n  a:\n    %model_id: m\n"
	for _, tt := range []struct{ text, said string }{
		{"version: 1\nagents:\n  a:\n    m\u043edel_id: m\n", "U+043E at column 6, a Cyrillic letter that looks like \"o\""},
		{"version: 1\nagents:\n  \u0430b: {model_id: m}\n", "U+0430 at column 3, a Cyrillic letter"},
		{"version: 1\nagents:\n  a\u03bf: {model_id: m}\n", "U+03BF at column 4, a Greek letter"},
		{"version: 1\nagents:\n  \uff41: {model_id: m}\n", "U+FF41 at column 3, a fullwidth letter"},
		{"version: 1\nagents:\n  a:\n    model_id:\u00a0m\n", "U+00A0 no-break space at column 14"},
		{"version: 1\nagents:\n  a:\n    model_id\u00a0: m\n", "U+00A0 no-break space at column 13"},
		{"version: 1\nagents:\n  a:\n\u00a0\u00a0\u00a0\u00a0model_id: m\n", "U+00A0 no-break space"},
		{"version: 1\nagents:\n  a:\n    model_id: m\n    \u00a0description: x\n", "U+00A0 no-break space at column 5"},
		{"version: 1\nagents:\n  a\u200b: {model_id: m}\n", "U+200B zero width space at column 4"},
		{"version: 1\nagents:\n  a:\n    \ufeffmodel_id: m\n", "U+FEFF byte order mark at column 5"},
		{"version: 1\nagents:\n  a:\n    tool_execution: \u201cparallel\u201d\n", "U+201C left double quotation mark at column 21"},
		{"version: 1\nagents:\n  a:\n    tool_execution: \u2018parallel\u2019\n", "U+2018 left single quotation mark"},
		{"version: 1\nagents:\n\ta: {model_id: m}\n", "indent with spaces: there is a U+0009 tab at column 1"},
		{"version: 1\nagents: {a: {model_id: m, max_rounds: \u221214}}\n", "U+2212 minus sign"},
		{"version\uff1a 1\n", "U+FF1A fullwidth colon"},
	} {
		_, list := parseDocument(t, strings.ReplaceAll(tt.text, "%", ""))
		if !strings.Contains(hints(list), tt.said) {
			t.Errorf("%q: nothing says %q:\n%s", tt.text, tt.said, hints(list))
		}
	}
	for _, text := range []string{
		strings.ReplaceAll(agent, "%", "description: \"Привет, мир: \u201cx\u201d\"\n    max_rounds: x\n    "),
		strings.ReplaceAll(agent, "%", "описание: x\n    "),
	} {
		if _, list := parseDocument(t, text); strings.Contains(hints(list), "U+") {
			t.Errorf("%q: characters are named that are not to blame:\n%s", text, hints(list))
		}
	}
}

// A manifest from another system uses another name for the version.
func TestAMissingVersionNamesWhatStandsInItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Agent\n":   "1:1 write version: 1 instead of apiVersion",
		"kind: Agent\napiVersion: v1\n":   "2:1 write version: 1 instead of apiVersion",
		"agents: {}\nschema_version: 2\n": "2:1 write version: 1 instead of schema_version",
		"agents: {}\nVerison: 1\n":        "2:1 write version: 1 instead of Verison",
		"kind: Agent\n":                   "1:1 the supported version is 1: write version: 1",
	} {
		_, list := parseDocument(t, text)
		if len(list) != 1 || list[0].Code != diag.UnsupportedVersion {
			t.Errorf("%q gives %v", text, list)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", list[0].Line, list[0].Column, list[0].Hint); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
