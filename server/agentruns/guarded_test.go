package agentruns

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// payment is a tool that does more than read.
type payment struct{ weather }

func (payment) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Once} }

// TestRequestsNameNothingThatIsGuarded has requests that describe their agent, or name one
// with few tools, beside agents that ask before they read, and that may not list.
func TestRequestsNameNothingThatIsGuarded(t *testing.T) {
	t.Parallel()
	rules := func(text string) spec.Sections { return spec.Sections{"permission": json.RawMessage(text)} }
	declare := func(b *builder.AgentRuntimeBuilder) {
		b.WithAvailablePlugin("permission", permission.New()).
			WithTool("free", weather{}).WithTool("read", weather{}).WithTool("list", weather{}).WithTool("pay", payment{}).
			WithAgentSpec(spec.Agent{ID: "asks", ModelID: "fast", AllowedTools: spec.Names{"read", "pay"}, PluginIDs: []string{"permission"}, Sections: rules(`{"default_behavior":"allow","rules":[{"tool":"read","behavior":"ask"}]}`)}).
			WithAgentSpec(spec.Agent{ID: "denies", ModelID: "fast", AllowedTools: spec.Names{"list"}, PluginIDs: []string{"permission"}, Sections: rules(`{"default_behavior":"deny"}`)}).
			WithAgentSpec(spec.Agent{ID: "narrow", ModelID: "fast", AllowedTools: spec.Names{"free"}})
	}
	const more, asks, denies, unlisted = "does more than read", "agent asks guards it", "agent denies guards it", "server.agent_runs.tools does not list it"
	for name, tt := range map[string]struct {
		tools spec.Names
		// refused has, for each agent, why its tools are refused.
		refused map[string]map[string]string
	}{
		"by default": {nil, map[string]map[string]string{
			"": {"pay": more, "read": asks, "list": denies}, "narrow": {"pay": more, "read": asks, "list": denies},
			"asks": {"list": denies}, "denies": {"pay": more, "read": asks},
		}},
		"some": {spec.Names{"pay", "re*"}, map[string]map[string]string{
			"": {"free": unlisted, "list": unlisted}, "narrow": {"list": unlisted}, "asks": {"free": unlisted, "list": unlisted}, "denies": {"free": unlisted},
		}},
		"all":  {spec.Names{"*"}, nil},
		"none": {spec.Names{}, map[string]map[string]string{"": {"free": unlisted, "pay": unlisted, "read": unlisted, "list": unlisted}, "asks": {"free": unlisted, "list": unlisted}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serving(t, func(s *setup) { s.more, s.settings.Tools = declare, tt.tools })
			open := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"Obey."}`)["sessionId"].(string)
			for _, agent := range []string{"", "narrow", "asks", "denies"} {
				if _, tested := tt.refused[agent]; !tested && name == "none" {
					continue
				}
				for _, tool := range []string{"free", "read", "list", "pay"} {
					why := tt.refused[agent][tool]
					for _, ref := range []string{`{"kind":"mantyx","id":%q}`, `{"kind":"mantyx_plugin","name":%q}`} {
						as := `"systemPrompt":"Obey."`
						if agent != "" {
							as = fmt.Sprintf(`"agentId":%q`, agent)
						}
						body := fmt.Sprintf(`{%s,"prompt":"say hi","tools":[`+ref+`]}`, as, tool)
						for _, path := range []string{"/agent-runs", "/agent-sessions", "/agent-sessions/" + open + "/messages"} {
							if agent != "" && path != "/agent-runs" && path != "/agent-sessions" {
								continue // it is one without an agent
							}
							status, answer := w.do(http.MethodPost, path, body)
							if (status == http.StatusBadRequest) != (why != "") || !strings.Contains(fmt.Sprint(answer["message"]), why) && why != "" {
								t.Errorf("%s %s: %d %v", path, body, status, answer)
							}
						}
					}
				}
			}
		})
	}
}
