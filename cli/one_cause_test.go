package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/diag"
	"go.uber.org/zap"
)

// wellFormed is a configuration without mistakes or unused entries.
const wellFormed = `version: 1
providers:
  demo: {type: scripted}
models:
  main: {provider_id: demo, upstream_model: demo}
tools:
  wc: {type: command, description: Counts words., command: [wc, -w]}
plugins:
  audit: {type: log}
agents:
  a: {model_id: main, description: d, plugin_ids: [permission, audit], allowed_tools: [wc]}
`

// mistake is an edit that introduces one mistake into the configuration.
type mistake struct {
	code     diag.Code
	from, to string
}

// mistakes has at least one edit for each code that files can cause.
var mistakes = []mistake{
	{diag.InvalidYAML, "tools:", "tools: ]"},
	{diag.UnsupportedVersion, "version: 1", "version: 2"},
	{diag.UnsupportedVersion, "version: 1\n", ""},
	{diag.UnknownField, "model_id: main", "model_id: main, temprature: 1"},
	{diag.UnknownField, "model_id:", "model:"},
	{diag.UnknownField, "model_id:", "llm:"},
	{diag.UnknownField, "provider_id:", "provider:"},
	{diag.UnknownField, "provider_id:", "vendor:"},
	{diag.UnknownField, "upstream_model:", "model_name:"},
	{diag.UnknownField, "type: scripted", "kind: scripted"},
	{diag.UnknownField, "model_id:", "mоdel_id:"},
	{diag.ModelNotFound, "model_id: main", "model_id: gpt-4o"},
	{diag.ModelNotFound, "model_id: main", "model_id: demo"},
	{diag.UnknownField, "allowed_tools:", "tools:"},
	{diag.UnknownField, "allowed_tools:", "toolbox:"},
	{diag.UnknownField, "plugin_ids:", "plugins:"},
	{diag.UnknownField, "plugin_ids:", "hooks:"},
	{diag.UnknownField, "agents:", "agent:"},
	{diag.UnknownField, "providers:", "vendors:"},
	{diag.MissingField, "model_id: main, ", ""},
	{diag.MissingField, "provider_id: demo, ", ""},
	{diag.MissingField, "{type: scripted}", "{}"},
	{diag.InvalidValue, "model_id: main", "model_id: 4"},
	{diag.InvalidValue, "model_id: main", "model_id: main, max_rounds: -1"},
	{diag.InvalidValue, "allowed_tools: [wc]", "allowed_tools: [7]"},
	{diag.InvalidValue, "allowed_tools: [wc]", "allowed_tools: wc"},
	{diag.InvalidValue, "plugin_ids: [permission, audit]", "plugin_ids: audit"},
	{diag.InvalidValue, "provider_id: demo", "provider_id: [demo]"},
	{diag.InvalidValue, "type: scripted", "type: opneai"},
	{diag.InvalidValue, "type: command", "type: comand"},
	{diag.InvalidValue, "type: log", "type: logger"},
	{diag.InvalidValue, "agents:\n  a: ", "agents:\n  - "},
	{diag.DuplicateID, "agents:", "model_pools: {main: {members: [{model_id: main}]}}\nagents:"},
	{diag.DuplicateID, "agents:", "model_pools: {main: {members: [{model_id: main}]}}\nagents:\n  b: {model_id: main}\n  c: {model_id: main, context_policy: {summary_model_id: main}}"},
	{diag.DuplicateID, "agents:", "agents:\n  a: {model_id: main}"},
	{diag.InvalidID, "agents:\n  a:", "agents:\n  a b:"},
	{diag.InvalidID, "wc: {type", "w c: {type"},
	{diag.UnsetVariable, "upstream_model: demo", "upstream_model: \"${NO_SUCH_VARIABLE}\""},
	{diag.UnsetVariable, "allowed_tools: [wc]", "allowed_tools: [\"${NO_SUCH_VARIABLE}\"]"},
	{diag.AgentNotFound, "model_id: main", "model_id: main, handoffs: [b]"},
	{diag.AgentNotFound, "allowed_tools: [wc]", "delegates: [b]"},
	{diag.AgentNotFound, "model_id: main", "extends: b"},
	{diag.InvalidValue, "model_id: main", "extends: a"},
	{diag.InvalidValue, "agents:\n", "agents:\n  b: {extends: c}\n  c: {extends: b, delegates: [a]}\n"},
	{diag.ModelNotFound, "agents:", "patches: {agents: {a: {model_id: mian}}}\nagents:\n  b: {extends: a}"},
	{diag.WidenedAccess, "agents:", "patches: {agents: {a: {allowed_tools: [wc, agent_run_b], delegates: [b]}}}\nagents:\n  b: {model_id: main, description: d}"},
	{diag.InvalidValue, "agents:", "patches: {agents: {a: {allowed_tools: 3}}}\nagents:"},
	{diag.UndeclaredVariable, "model_id: main", "model_id: main, system_prompt: \"For ${turn.name}.\""},
	{diag.UndeclaredVariable, "agents:", "defaults: {system_prompt: \"For ${turn.name}.\"}\nagents:\n  b: {model_id: main, variables: {properties: {name: {type: string}}}}"},
	{diag.InvalidSchema, "model_id: main", "model_id: main, system_prompt: \"For ${turn.name}.\", variables: {type: object, properties: {name: {type: texxt}}}"},
	{diag.InvalidValue, "description: d", "description: \"For ${turn.name}.\""},
	{diag.UnmatchedPatch, "agents:", "patches: {agents: {b: {model_id: mian}}}\nagents:"},
	{diag.UnmatchedPatch, "agents:", "patches: {tools: {wcc: {description: x}}}\nagents:"},
	{diag.ModelNotFound, "model_id: main", "model_id: mian"},
	{diag.ModelNotFound, "model_id: main", "model_id: something-else"},
	{diag.ModelNotFound, "agents:", "model_pools: {p: {members: [{model_id: main}, {model_id: gone}]}}\nagents:\n  b: {model_id: p}"},
	{diag.ProviderNotFound, "provider_id: demo", "provider_id: dmeo"},
	{diag.ProviderNotFound, "provider_id: demo", "provider_id: something-else"},
	{diag.PluginNotFound, "[permission, audit]", "[permission, audti]"},
	{diag.PluginNotFound, "[permission, audit]", "[permission, something-else]"},
	{diag.InvalidPluginConfig, "model_id: main", "model_id: main, sections: {permission: {default_behavior: alow}}"},
	{diag.UnsupportedBackend, "agents:", "agents:\n  far: {endpoint: {backend: pigeon, base_url: \"https://x.example\"}}"},
	{diag.InvalidEndpoint, "agents:", "agents:\n  far: {endpoint: {base_url: \"ftp://x.example\"}}"},
	{diag.RemoteNotLocal, "allowed_tools: [wc]", "handoffs: [far]}\n  far: {endpoint: {base_url: \"https://x.example\"}"},
	{diag.ToolIDConflict, "wc: {type", "agent_run_b: {type: command, description: Clashes., command: [wc]}\n  wc: {type"},
	{diag.InvalidPattern, "allowed_tools: [wc]", "allowed_tool_patterns: [\"w[c\"]"},
	{diag.InvalidPattern, "allowed_tools: [wc]", "excluded_tool_patterns: [\"{x\"]"},
	{diag.InvalidPattern, "allowed_tools: [wc]", "allowed_tool_patterns: [\"w[c\"], sections: {permission: {default_behavior: allow, rules: [{tool: wc, behavior: deny}]}}"},
	{diag.InvalidPattern, "allowed_tools: [wc]", "allowed_tool_patterns: [\"[\"], tool_budgets: {wc: {max_calls: 1}}"},
	{diag.InvalidPattern, "allowed_tools: [wc]}", "allowed_tool_patterns: [\"w[c\"], delegates: [b]}\n  b: {model_id: main, description: d}"},
	{diag.InvalidPattern, "agents:", "defaults: {allowed_tool_patterns: [\"w[c\"]}\nagents:\n  b: {model_id: main, description: d}"},
	{diag.InvalidPattern, "model_id: main", "model_id: main, sections: {permission: {rules: [{tool: \"[wc\", behavior: deny}]}}"},
	{diag.InvalidCondition, "wc, -w]", "wc, -w], parameters: {type: object, properties: {n: {type: number}}, additionalProperties: false}"},
	{diag.InvalidSchema, "wc, -w]", "wc, -w], parameters: {type: array}"},
	{diag.UnmatchedPattern, "allowed_tools: [wc]", "allowed_tool_patterns: [\"mcp__*\"]"},
	{diag.UnmatchedPattern, "allowed_tools: [wc]", "allowed_tool_patterns: [\"wc\", \"mcp__*\"]"},
	{diag.UnmatchedTool, "[wc]", "[wcc]"},
	{diag.UnmatchedTool, "[wc]", "[something-else]"},
	{diag.UnmatchedTool, "[wc]", "[\"w*\"]"},
	{diag.UnmatchedTool, "[wc]", "[wc], tool_budgets: {wcc: {max_calls: 1}}"},
	{diag.PermissionShapedEntry, "[wc]", "[wc(-l)]"},
	{diag.PermissionShapedEntry, "[wc]", "[wc], excluded_tools: [wc(-l)]"},
	{diag.UnknownRuleTool, "model_id: main", "model_id: main, sections: {permission: {default_behavior: allow, rules: [{tool: wcc, behavior: deny}]}}"},
	{diag.OrphanPermissionRule, "model_id: main", "model_id: main, sections: {permission: {default_behavior: allow, rules: [{tool: wcc, behavior: allow}]}}"},
	{diag.OrphanPermissionRule, "allowed_tools: [wc]", "allowed_tools: [], sections: {permission: {default_behavior: allow, rules: [{tool: wc, behavior: deny}]}}"},
	{diag.UnclaimedSection, "model_id: main", "model_id: main, sections: {colour: {}}"},
	{diag.UnclaimedSection, "[permission, audit]", "[audit], sections: {permission: {default_behavior: allow}}"},
	{diag.IgnoredField, "agents:", "agents:\n  far: {system_prompt: Be brief., endpoint: {base_url: \"https://x.example\"}}"},
	{diag.IgnoredField, "agents:", "agents:\n  far: {model_id: main, endpoint: {base_url: \"https://x.example\"}}"},
	{diag.NoEffect, "model_id: main", "model_id: main, max_handoffs: 2"},
	{diag.NoEffect, "allowed_tools: [wc]}", "allowed_tools: [wc], delegates: [b]}\n  b: {model_id: main, description: d}"},
	{diag.PlainSecret, "model_id: main", "model_id: main, system_prompt: \"The key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcd.\""},
	{diag.UnknownHookFilter, "audit]", "audit], active_hook_filter: [permission, audit, other]"},
	{diag.UnknownHookFilter, "[permission, audit]", "[permission], active_hook_filter: [permission, audit]"},
	{diag.NoDescription, "allowed_tools: [wc]", "delegates: [b]}\n  b: {model_id: main"},
	{diag.NoRetry, "type: scripted", "type: openai"},
	{diag.DelegateCycle, "allowed_tools: [wc]", "delegates: [b]}\n  b: {model_id: main, description: d, delegates: [a]"},
	{diag.NoTools, "allowed_tools: [wc]", "excluded_tools: [wc]"},
	{diag.NoTools, "allowed_tools: [wc]", "excluded_tool_patterns: [\"*\"]"},
	{diag.NoCatalog, "wc: {type", "far: {type: mcp, url: \"https://x.example/mcp\"}\n  wc: {type"},
	{diag.UnusedDefinition, "models:", "models:\n  spare: {provider_id: demo, upstream_model: spare}"},
	{diag.ToolNotFound, "agents:", "workflows: {w: {steps: [{id: s, tool: {name: wcc}}]}}\nagents:"},
	{diag.ToolNotFound, "agents:", "workflows: {w: {steps: [{id: s, agent: {agent: a, prompt: Count., tools: [wcc]}}]}}\nagents:"},
	{diag.AgentNotFound, "agents:", "workflows: {w: {steps: [{id: s, agent: {agent: b, prompt: Count.}}]}}\nagents:"},
	{diag.InvalidTemplate, "agents:", "workflows: {w: {steps: [{id: s, agent: {agent: a, prompt: \"${{ item }}\"}}]}}\nagents:"},
	{diag.UnknownStep, "agents:", "workflows: {w: {steps: [{id: s, agent: {agent: a, prompt: \"${{ steps.t.outputs.text }}\"}}]}}\nagents:"},
	{diag.InvalidValue, "agents:", "workflows: {w: {schedules: [{cron: daily}], steps: [{id: s, tool: {name: wc}}]}}\nagents:"},
	{diag.DuplicateID, "agents:", "workflows: {w: {steps: [{id: s, tool: {name: wc}}, {id: s, tool: {name: wc}}]}}\nagents:"},
	{diag.MissingField, "agents:", "workflows: {w: {}}\nagents:"},
	{diag.InvalidIgnore, "agents:", "agents: # runtime: ignore no-tools there are some"},
	{diag.InvalidIgnore, "agents:", "# runtime: ignore no-tool there are none\nagents:"},
	{diag.InvalidIgnore, "agents:", "agents: # runtime: ignore no-tools"},
	{diag.InvalidIgnore, "agents:", "agents: # runtime: ignore"},
	{diag.MissingDirectory, "command: [wc, -w]", "command: [wc, -w], dir: ./nowhere"},
}

// elsewhere lists the codes that such an edit cannot cause.
var elsewhere = map[diag.Code]string{
	diag.AmbiguousModel: "of a file the second definition is duplicate-id",
	diag.AdaptedTool:    "the tools are sent to vendors alone; see code_adapted-tool.txtar",
	diag.EnvBuild:       "the plugins that are shipped register without fail",
	diag.UnknownScope:   "see withServer",
	diag.UnmatchedAgent: "see withServer",

	diag.UnattendedApproval: "needs a schedule and a rule; see code_unattended-approval.txtar",
}

// withServer are the mistakes in server settings.
var withServer = []mistake{
	{diag.UnknownScope, "[runs:read]", "[runs:raed]"},
	{diag.UnmatchedAgent, "[a]", "[b]"},
	{diag.InvalidValue, "scopes: [runs:read]", "scopes: runs:read"},
}

const serverSettings = `server:
  keys:
    - {id: desk, hash: "sha256:0000000000000000000000000000000000000000000000000000000000000001", scopes: [runs:read], agents: [a]}
`

// found returns validate's diagnostics for a configuration.
func found(t *testing.T, text string) diag.List {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{Components: shipped.Components()}
	l, err := p.load([]string{name}, false, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	_, list, err := l.check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// mistaken returns the configuration with a mistake.
func mistaken(t *testing.T, text string, m mistake) string {
	t.Helper()
	if m.code == diag.ToolIDConflict {
		text = strings.Replace(text, "allowed_tools: [wc]}", "allowed_tools: [wc, agent_run_b], delegates: [b]}\n  b: {model_id: main, description: d}", 1)
	}
	if m.code == diag.InvalidCondition {
		text = strings.Replace(text, "model_id: main,", "model_id: main, sections: {permission: {default_behavior: allow, rules: [{tool: wc(m > 3), behavior: deny}]}},", 1)
	}
	if !strings.Contains(text, m.from) {
		t.Fatalf("%q does not occur in the configuration", m.from)
	}
	return strings.Replace(text, m.from, m.to, 1)
}

func TestOneMistakeGivesOneDiagnostic(t *testing.T) {
	t.Parallel()
	for _, text := range []string{wellFormed, wellFormed + serverSettings} {
		if list := found(t, text); len(list) > 0 {
			t.Fatalf("there is something wrong already: %v", list)
		}
	}
	covered := map[diag.Code]bool{}
	check := func(text string, list []mistake) {
		for _, m := range list {
			covered[m.code] = true
			t.Run(string(m.code)+" "+m.to, func(t *testing.T) {
				t.Parallel()
				list := found(t, mistaken(t, text, m))
				if len(list) != 1 || list[0].Code != m.code {
					t.Errorf("%s instead of %s gives:", m.to, m.from)
					for _, d := range list {
						t.Logf("%s %s", d.Severity, d.Error())
					}
				}
				if len(list) > 0 && list[0].Line == 0 {
					t.Errorf("%v stands nowhere", list[0])
				}
			})
		}
	}
	check(wellFormed, mistakes)
	check(wellFormed+serverSettings, withServer)
	for _, info := range diag.Codes() {
		if !covered[info.Code] && elsewhere[info.Code] == "" {
			t.Errorf("no mistake gives %s", info.Code)
		}
	}
}

// other lists additional codes that a code's script has on purpose.
var other = map[diag.Code][]diag.Code{
	diag.AmbiguousModel:   {diag.DuplicateID},
	diag.InvalidSchema:    {diag.UnknownField}, // beside another invalid schema
	diag.UnknownScope:     {diag.PlainSecret},  // credentials need an encryption key
	diag.UnmatchedAgent:   {diag.PlainSecret},
	diag.InvalidCondition: {diag.InvalidPattern}, // conditions that cannot be read are beside those that do not fit
}

// The script of a code causes only that code.
func TestScriptsOfCodesShowNoConsequences(t *testing.T) {
	t.Parallel()
	header := regexp.MustCompile(`(?m)^(?:error|warning|info)\[([a-z-]+)\]: `)
	for _, info := range diag.Codes() {
		name := filepath.Join("testdata", "script", "code_"+string(info.Code)+".txtar")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range header.FindAllStringSubmatch(string(data), -1) {
			if code := diag.Code(m[1]); code != info.Code && !slices.Contains(other[info.Code], code) {
				t.Errorf("%s shows %s as well", name, code)
			}
		}
	}
}

// The types of other systems have a hint with the type to write instead.
func TestTypesOfOtherSystemsHaveHints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, hint string }{
		{"type: scripted", "type: azure", "type: azure_openai and base_url: https://<resource>.openai.azure.com"},
		{"type: scripted", "type: Azure-OpenAI", "type: azure_openai and base_url: https://<resource>.openai.azure.com"},
		{"type: scripted", "type: ollama", "type: openai, base_url: http://localhost:11434/v1 and api: chat_completions"},
		{"type: scripted", "type: vllm", "api: chat_completions"},
		{"type: scripted", "type: claude", "type: anthropic"},
		{"type: scripted", "type: gemini", "type: google"},
		{"type: scripted", "type: mock", "type: scripted"},
		{"type: command", "type: rest", "type: http"},
		{"type: command", "type: stdio", "type: mcp"},
		{"type: command", "type: shell", "type: command"},
		{"type: log", "type: logging", "type: log"},
		{"model_id: main", "model_id: claude-sonnet-4", "models: {main: {provider_id: demo, upstream_model: claude-sonnet-4}}"},
		{"provider_id: demo", "provider_id: scripted", ""},
	} {
		list := found(t, mistaken(t, wellFormed, mistake{"", tt.from, tt.to}))
		if len(list) != 1 || !strings.Contains(list[0].Hint, tt.hint) {
			t.Errorf("%s gives %v, want one with the hint %q", tt.to, list, tt.hint)
		}
	}
}
