package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"go.uber.org/zap"
)

// hostedWorld is a configuration with agents at hosted providers, one of which can only answer. The
// %s are their listen and callback addresses.
const hostedWorld = `version: 1
providers: {demo: {type: scripted, script: script.yaml}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  read: {type: command, description: Reads., command: [cat], effect: read}
  pay: {type: command, description: Pays., command: [cat], effect: once}
agent_providers:
  able: {type: address, address: "%s", host_address: "%s"}
  mute: {type: address, address: "%s", host_address: "%s"}
agents:
  able: {endpoint: {backend: provider, target: able}}
  mute: {endpoint: {backend: provider, target: mute}}
  boss: {model_id: m, delegates: [able]}
workflows:
  ables: {tenant: acme, events: [{type: able}], steps: [{id: a, agent: {agent: able, prompt: "${{ input.say }}", tools: [read]}}]}
  mutes: {tenant: acme, events: [{type: mute}], steps: [{id: a, agent: {agent: mute, prompt: "${{ input.say }}", tools: [read]}}]}
store: {driver: memory}
server:
  listen: 127.0.0.1:0
  keys: [{id: ann, key: ` + annKey + `, tenant: acme, subject: ann}]
  agents: {}
  sessions: {providers: {able: {agent: able, default: true}, mute: {agent: mute}}}
`

// delegating is the script of the agent that delegates its input.
const delegating = `replies:
- {match: delegated, tool_calls: [{id: c1, name: agent_run_able, arguments: {prompt: delegated}}]}
- {text: done}
`

// notebook is a provider that records the abilities of each of its turns, by the text that the turn
// starts with.
type notebook struct {
	mu    sync.Mutex
	notes map[string]string
}

func (n *notebook) work(ctx context.Context, t *providertest.Turn) {
	req := t.Request
	var names []string
	if req.GetToolSource() != 0 {
		listed, err := t.Tools(ctx, "")
		if err != nil {
			t.Fail(err.Error())
			return
		}
		for _, l := range listed {
			names = append(names, l.GetMcpName())
		}
	}
	slices.Sort(names)
	note := fmt.Sprintf("%s [%s]", req.GetModel(), strings.Join(names, " "))
	if req.GetResponseSchema() != nil {
		note += " form"
	}
	if options := req.GetModelOptions(); options != nil {
		note += " options"
	}
	text := ""
	for _, m := range req.GetMessages() {
		if m.GetRole() == "system" {
			note += " " + m.GetText()
		}
		text = m.GetText()
	}
	n.mu.Lock()
	n.notes[text] = note
	n.mu.Unlock()
	t.Succeed(`{"said":"` + text + `"}`)
}

// wait returns a turn's abilities once the turn exists.
func (n *notebook) wait(t *testing.T, text string) string {
	t.Helper()
	var note string
	eventually(t, func() (ok bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		note, ok = n.notes[text]
		return ok
	})
	return note
}

// serveHosted serves the configuration with both providers.
func serveHosted(t *testing.T) (*town, *notebook) {
	t.Helper()
	n := &notebook{notes: make(map[string]string)}
	able := (&providertest.Provider{Work: n.work, Capabilities: &pb.AgentProviderCapabilities{
		StreamingText: true, ToolCalls: true, StructuredOutput: true,
		SupportedToolSources: []pb.AgentToolSourceMode{pb.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG},
	}}).Serve(t)
	mute := (&providertest.Provider{Work: n.work}).Serve(t)
	return &town{served: serveLogged(t, fmt.Sprintf(hostedWorld, able.Provider, able.Host, mute.Provider, mute.Host), delegating, zap.NewNop())}, n
}

// beginHosted sends one request, whose %s stand for the required session and the text, and returns
// the answer.
func (w *town) beginHosted(t *testing.T, agent, request, text string) heard {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	session := ""
	switch {
	case strings.HasPrefix(path, "/runtime"):
		session, _ = w.readable(t, http.MethodPost, "/runtime/v1/sessions", `{"agent_id":"`+agent+`"}`)["id"].(string)
	case strings.Contains(path, "SESSION"):
		session, _ = w.readable(t, http.MethodPost, "/api/v1/agent/sessions", `{"provider":"`+agent+`"}`)["id"].(string)
	}
	r := strings.NewReplacer("SESSION", session, "TEXT", text, "AGENT", agent)
	return w.ask(t, method, r.Replace(path), r.Replace(body), bearer(annKey))
}

// hostedRequests are the requests with which each surface begins a turn, with its optional
// settings. %s stands for additional fields.
var hostedRequests = map[string]string{
	"native":   `POST /runtime/v1/turns {"session_id":"SESSION","input":[{"role":"user","parts":[{"type":"text","text":"TEXT"}]}]%s}`,
	"runs":     `POST ` + annPath + `/agent-runs {"agentId":"AGENT","prompt":"TEXT"%s}`,
	"sessions": `POST /api/v1/agent/sessions/SESSION/turns {"messages":[{"role":"user","text":"TEXT"}]%s}`,
	"agents":   `POST /agents/AGENT {"data":{"message":{"role":"user","content":[{"text":"TEXT"}]}}%s}`,
	"a2a":      `POST /a2a/AGENT/message:send {"message":{"messageId":"m-TEXT","role":"ROLE_USER","parts":[{"text":"TEXT"}]}%s}`,
	"workflow": `POST /workflow/events {"type":"AGENT","source":"s","data":{"say":"TEXT"}%s}`,
}

func TestEverySurfaceReachesHostedAgents(t *testing.T) {
	t.Parallel()
	w, n := serveHosted(t)
	const form = `{"type":"object","properties":{"said":{"type":"string"}}}`
	local := `{"kind":"local","name":"ask_client","description":"Asks.","parameters":{"type":"object"}}`
	for i, tt := range []struct{ surface, more, want string }{
		{"native", ``, ` [pay read]`},
		{"native", `,"model_id":"vendor/deep"`, `vendor/deep [pay read]`},
		{"native", `,"tool_ids":["read"]`, ` [read]`},
		{"native", `,"tool_ids":[]`, ` []`},
		{"runs", ``, ` [pay read]`},
		{"runs", `,"modelId":"vendor/deep"`, `vendor/deep [pay read]`},
		{"runs", `,"tools":[` + local + `]`, ` [ask_client pay read]`},
		{"runs", `,"outputSchema":{"name":"f","schema":` + form + `}`, ` [pay read] form`},
		{"runs", `,"reasoningLevel":"high"`, ` [pay read] options`},
		{"runs", `,"systemPrompt":"Be brief."`, ` [pay read] Be brief.`},
		{"runs", `,"budgets":{"maxToolTurns":2},"toolBudgets":{"pay":{"maxCalls":1}},"loopDetection":false`, ` [pay read]`},
		{"sessions", ``, ` [read]`},
		{"sessions", `,"model":"vendor/deep","toolRefs":[{"plugin":"pay"}],"responseSchema":` + form, `vendor/deep [pay read] form`},
		{"agents", ``, ` [pay read]`},
		{"a2a", ``, ` [pay read]`},
		{"workflow", ``, ` [read]`},
	} {
		text := fmt.Sprintf("%s-%d", tt.surface, i)
		if got := w.beginHosted(t, "able", fmt.Sprintf(hostedRequests[tt.surface], tt.more), text); got.status >= http.StatusBadRequest {
			t.Errorf("%s %s: %d %s", tt.surface, tt.more, got.status, got.body)
		} else if note := n.wait(t, text); note != tt.want {
			t.Errorf("%s %s: the turn has %q and should have %q", tt.surface, tt.more, note, tt.want)
		}
	}
	w.beginHosted(t, "boss", fmt.Sprintf(hostedRequests["runs"], ""), "delegated")
	if note := n.wait(t, "delegated"); note != ` [pay read]` {
		t.Errorf("a delegate has %q", note)
	}
}

func TestEverySurfaceRefusesWhatAHostedProviderCannotDo(t *testing.T) {
	t.Parallel()
	w, _ := serveHosted(t)
	const form = `{"type":"object"}`
	local := `{"kind":"local","name":"ask_client","description":"Asks.","parameters":{"type":"object"}}`
	for _, tt := range []struct {
		surface, more string
		status        int
		want          string
	}{
		{"native", `,"tool_ids":["read"]`, http.StatusBadRequest, "tool_calls"},
		{"runs", `,"tools":[` + local + `]`, http.StatusBadRequest, "tool_calls"},
		{"runs", `,"outputSchema":{"name":"f","schema":` + form + `}`, http.StatusBadRequest, "structured_output"},
		{"sessions", `,"toolRefs":[{"plugin":"read"}]`, http.StatusPreconditionFailed, "tool_calls"},
		{"sessions", `,"responseSchema":` + form, http.StatusPreconditionFailed, "structured_output"},
	} {
		got := w.beginHosted(t, "mute", fmt.Sprintf(hostedRequests[tt.surface], tt.more), "x")
		if got.status != tt.status || !strings.Contains(got.body, tt.want) || !strings.Contains(got.body, "mute") {
			t.Errorf("%s %s: %d %s", tt.surface, tt.more, got.status, got.body)
		}
	}
	w.beginHosted(t, "mute", fmt.Sprintf(hostedRequests["workflow"], ""), "x") // which answers before its steps begin
	var runs struct {
		Items []struct{ ID, Status string }
	}
	eventually(t, func() bool {
		got := w.ask(t, http.MethodGet, "/workflow/runs", "", bearer(annKey))
		if err := json.Unmarshal([]byte(got.body), &runs); err != nil {
			t.Fatal(err)
		}
		return len(runs.Items) > 0 && runs.Items[0].Status == "failed"
	})
	if got := w.ask(t, http.MethodGet, "/workflow/runs/"+runs.Items[0].ID, "", bearer(annKey)); !strings.Contains(got.body, "tool_calls") {
		t.Errorf("the run of a workflow is %s", got.body)
	}
}
