package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/plugins/toolsearch"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// scriptedModel makes one call after another, and keeps which tools it was offered.
type scriptedModel struct {
	calls   []model.ToolCall
	offered [][]string
	results []string
}

func (*scriptedModel) Vendor() string { return "openai" }

func (m *scriptedModel) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		var names []string
		for i := range req.Tools {
			names = append(names, req.Tools[i].Name)
		}
		m.offered = append(m.offered, names)
		if last := &req.Messages[len(req.Messages)-1]; last.Role == model.RoleTool {
			for i := range last.Parts {
				if r := last.Parts[i].ToolResult; r != nil {
					m.results = append(m.results, r.Content[0].Text)
				}
			}
		}
		events := []model.Event{{Type: model.EventText, Delta: "Done."}, {Type: model.EventFinish, Reason: model.FinishStop}}
		if n := len(m.offered) - 1; n < len(m.calls) {
			c := m.calls[n]
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: fmt.Sprint("call_", n), Name: c.Name}, {Type: model.EventToolCallEnd, Delta: string(c.Arguments)},
				{Type: model.EventFinish, Reason: model.FinishToolCalls},
			}
		}
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

type in struct {
	City string `json:"city,omitempty"`
}

func echo(description string) tools.Tool {
	return &tools.Func[in, string]{Description: description, Effect: tools.Read, Run: func(context.Context, in) (string, error) { return "sunny", nil }}
}

// runTurn runs a turn of an agent with the plugin.
func runTurn(t *testing.T, agent spec.Agent, m *scriptedModel) {
	t.Helper()
	agent.ID, agent.ModelID = "a", "m"
	agent.PluginIDs = append(agent.PluginIDs, toolsearch.PluginID)
	rt, err := builder.New().WithProvider("p", m).WithModel(spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "x"}).
		WithAvailablePlugin("permission", permission.New()).WithAvailablePlugin(toolsearch.PluginID, toolsearch.New()).
		WithTool("weather__get", echo("Tells the weather.")).WithTool("weather__delete", echo("Deletes weather.")).
		WithTool("mail", echo("Sends a letter.")).WithTool("hidden", echo("Weather that nobody may see.")).
		WithAgentSpec(agent).Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Run(t.Context(), runtime.Prompt("a", "How is the weather?"), nil); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
}

func call(name, arguments string) model.ToolCall {
	return model.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}
}

func TestToolsAreOfferedWhenASearchFoundThem(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{calls: []model.ToolCall{call("weather__get", `{}`), call(toolsearch.ToolID, `{"query":"get weather in a city","max_results":1}`), call("weather__get", `{"city":"Oslo"}`)}}
	runTurn(t, spec.Agent{ExcludedTools: spec.Names{"hidden"}}, m)
	if got, want := fmt.Sprint(m.offered), "[[tool_search] [tool_search] [tool_search weather__get] [tool_search weather__get]]"; got != want {
		t.Errorf("it is offered %s and should be %s", got, want)
	}
	if len(m.results) != 3 || !strings.Contains(m.results[0], "not available now") || m.results[2] != "sunny" {
		t.Errorf("the results are %q", m.results)
	}
	if want := `{"tools":[{"name":"weather__get","description":"Tells the weather."}],"matches":3,"total":3}`; m.results[1] != want {
		t.Errorf("it found %s and should find %s", m.results[1], want)
	}
}

func TestASearchFindsNothingThatTheAgentMayNotCall(t *testing.T) {
	t.Parallel()
	deny := json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"weather__delete","behavior":"deny"}]}`)
	m := &scriptedModel{calls: []model.ToolCall{call(toolsearch.ToolID, `{"query":""}`), call("weather__delete", `{}`), call("hidden", `{}`)}}
	runTurn(t, spec.Agent{
		ExcludedTools: spec.Names{"hidden"}, PluginIDs: []string{"permission"},
		Sections: spec.Sections{"permission": deny, toolsearch.SectionKey: json.RawMessage(`{"always":["mail"]}`)},
	}, m)
	if got, want := fmt.Sprint(m.offered[:2]), "[[mail tool_search] [mail tool_search weather__get]]"; got != want {
		t.Errorf("it is offered %s and should be %s", got, want)
	}
	for _, text := range m.results {
		if strings.Contains(text, "sunny") || strings.Contains(text, "nobody") || strings.Contains(text, `"weather__delete"`) && strings.Contains(text, "Deletes") {
			t.Errorf("a result is %s", text)
		}
	}
}

func TestTheBestToolComesFirst(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"zipCode":{}}}`)
	all := []model.Tool{
		{Name: "mcp__jira__create_issue", Description: "Creates an issue."}, {Name: "mcp__github__create_issue", Description: "Creates an issue."},
		{Name: "forecast", Description: "Weather of the next days.", Parameters: schema}, {Name: "weather_now"}, {Name: "größe", Description: "Größe in cm"},
	}
	for query, want := range map[string]string{
		"github issue": "mcp__github__create_issue mcp__jira__create_issue", "weather": "weather_now forecast", "zip code": "forecast",
		"forecasts": "forecast", "create": "mcp__github__create_issue mcp__jira__create_issue", "GRÖSSE Größe": "größe", "nothing like it": "",
		"  ": "forecast größe mcp__github__create_issue mcp__jira__create_issue weather_now", "mcp__jira__create_issue": "mcp__jira__create_issue mcp__github__create_issue",
	} {
		var names []string
		for _, tool := range toolsearch.Rank(all, query) {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q finds %q and should find %q", query, got, want)
		}
	}
}

func TestPropertyRankFindsEachToolByItsNameAndAddsNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-zA-Z0-9_-]{1,20}`), rapid.ID[string]).Draw(t, "names")
		all := make([]model.Tool, len(names))
		for i, name := range names {
			all[i] = model.Tool{Name: name, Description: rapid.String().Draw(t, "description"), Parameters: json.RawMessage(rapid.String().Draw(t, "schema"))}
		}
		for _, tool := range toolsearch.Rank(all, rapid.String().Draw(t, "query")) {
			if !slices.Contains(names, tool.Name) {
				t.Fatalf("it finds %q, which is not there", tool.Name)
			}
		}
		for _, name := range names {
			if found := toolsearch.Rank(all, name); len(found) == 0 || !strings.EqualFold(found[0].Name, name) {
				t.Fatalf("%q does not find itself first", name)
			}
		}
	})
}
