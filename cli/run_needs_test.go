package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// needy is a configuration with a variable in each part that an agent may need; the addresses
// belong to a server that must not be called.
const needy = `version: 1
store: {driver: sqlite, dsn: "${V_STORE}"}
server: {keys: [{id: k, key: "${V_SERVER}"}]}
providers:
  echo: {type: scripted}
  vendor: {type: openai, api_key: "sk-${V_PROVIDER}", base_url: %[1]q}
models:
  m: {provider_id: echo, upstream_model: x}
  sold: {provider_id: vendor, upstream_model: x}
  named: {provider_id: echo, upstream_model: "${V_MODEL}"}
model_pools:
  pool: {members: [{model_id: m}, {model_id: sold, role: failover_only}]}
tools:
  web: {type: http, description: Gets., url: "https://example.com/", headers: {Authorization: "Bearer ${V_TOOL}"}}
  files: {type: mcp, url: %[1]q, headers: {Authorization: "Bearer ${V_MCP}"}}
plugins:
  audit: {type: log, level: "${V_PLUGIN}"}
remote_agents:
  - {name: cloud, base_url: %[1]q, auth: {type: bearer, token: "a-${V_SOURCE}"}}
defaults:
  system_prompt: "You work for ${V_DEFAULT}."
agents:
  plain: &plain {model_id: m, system_prompt: s, allowed_tools: []}
  prompted: {model_id: m, allowed_tools: []}
  own: {<<: *plain, system_prompt: "You are ${V_OWN}."}
  sold: {<<: *plain, model_id: sold}
  pooled: {<<: *plain, model_id: pool}
  named: {<<: *plain, model_id: named}
  summary: {<<: *plain, context_policy: {max_context_tokens: 1000, autocompact_threshold: 900, summary_model_id: sold}}
  logged: {<<: *plain, plugin_ids: [audit]}
  any: {model_id: m, system_prompt: s}
  web: {<<: *plain, allowed_tools: [web]}
  read: {<<: *plain, allowed_tools: [mcp__files__read]}
  listed: {<<: *plain, allowed_tool_patterns: ["mcp__f*"]}
  other: {<<: *plain, allowed_tool_patterns: ["w?b", "mcp__g*"]}
  less: {model_id: m, system_prompt: s, excluded_tools: [web], excluded_tool_patterns: ["mcp__files__*"]}
  denied:
    model_id: m
    system_prompt: s
    allowed_tools: [web]
    plugin_ids: [permission]
    sections: {permission: {rules: [{tool: other, behavior: ask}]}}
  boss: {<<: *plain, delegates: [web, boss], allowed_tools: [agent_run_web, agent_run_boss]}
  chief: {<<: *plain, delegates: [boss], allowed_tools: [agent_run_boss]}
  shut: {<<: *plain, delegates: [web]}
  hands: {<<: *plain, handoffs: [sold], allowed_tools: [hand_off_to_sold]}
  cloudy: {<<: *plain, delegates: [cloud/clerk], allowed_tools: [agent_run_cloud_clerk]}
  far: {description: Far., endpoint: {backend: a2a, base_url: %[1]q, auth: {type: bearer, token: "${V_ENDPOINT}"}}}
  caller: {<<: *plain, delegates: [far], allowed_tools: [agent_run_far]}
`

var missing = regexp.MustCompile(`the variable (\w+) is not set\n  --> \S+config\.yaml:\d+:\d+\n`)

// A run fails only for the variables that its agent needs, with their positions; a component that
// lacks a variable is not called.
func TestARunNeedsTheVariablesOfItsAgentAlone(t *testing.T) {
	t.Parallel()
	at, asked := counter(t)
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, needy, at.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for agent, want := range map[string][]string{
		"plain": nil, "shut": nil, "less": nil,
		"prompted": {"V_DEFAULT"}, "own": {"V_OWN"},
		"sold": {"V_PROVIDER"}, "pooled": {"V_PROVIDER"}, "summary": {"V_PROVIDER"}, "hands": {"V_PROVIDER"},
		"named": {"V_MODEL"}, "logged": {"V_PLUGIN"},
		"any": {"V_TOOL", "V_MCP"}, "web": {"V_TOOL"}, "denied": {"V_TOOL"}, "boss": {"V_TOOL"}, "chief": {"V_TOOL"}, "other": {"V_TOOL"},
		"read": {"V_MCP"}, "listed": {"V_MCP"},
		"cloudy": {"V_SOURCE"}, "cloud/clerk": {"V_SOURCE"}, "far": {"V_ENDPOINT"}, "caller": {"V_ENDPOINT"},
	} {
		t.Run(agent, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{"run", file, agent, "hello"}, terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			var got []string
			for _, m := range missing.FindAllStringSubmatch(errs.String(), -1) {
				got = append(got, m[1])
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || strings.Count(errs.String(), "V_") < len(want) {
				t.Errorf("missing are %q, want %q\n%s", got, want, errs.String())
			}
			if fails := want != nil; fails != (code == command.Failed) || fails != (out.Len() == 0) {
				t.Errorf("exit code %d\n%s%s", code, out.String(), errs.String())
			}
		})
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("what lacks its secret was asked %d times", n)
	}
}

// A variable whose purpose is unknown is needed by all.
func TestWhatIsNotKnownIsNeeded(t *testing.T) {
	t.Parallel()
	n := &needs{paths: map[string]bool{"providers.a": true}}
	for path, want := range map[string]bool{
		"": true, "future.x": true, "providers.a.api_key": true, "providers.a": true,
		"providers.ab.api_key": false, "server.keys[0]": false, "defaults.system_prompt": false,
	} {
		if got := n.include(path); got != want {
			t.Errorf("%q is needed: %t, want %t", path, got, want)
		}
	}
	if n.all = true; !n.include("server.keys[0]") {
		t.Error("an agent that does not resolve needs all")
	}
}
