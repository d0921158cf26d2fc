package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// desks is a configuration whose agent front hands over to billing for a refund. Ann may use only
// front.
const desks = `version: 1
providers: {demo: {type: scripted, script: script.yaml}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  read: {type: command, description: Reads., command: [cat], effect: read}
agents:
  front: {model_id: m, handoffs: [billing]}
  billing: {model_id: m}
workflows:
  refunds:
    tenant: acme
    events: [{type: front}]
    steps: [{id: a, agent: {agent: front, prompt: "${{ input.say }}", session_key: k}}]
store: {driver: memory}
turns: {handoff: %s}
server:
  listen: 127.0.0.1:0
  keys: [{id: ann, key: ` + annKey + `, tenant: acme, subject: ann, agents: [front]}]
  agents: {}
  sessions: {providers: {front: {agent: front, default: true}}}
`

const deskScript = `replies:
- {match: refund, tool_calls: [{id: c1, name: hand_off_to_billing, arguments: {}}]}
fallback: {text: done}
`

// deskRequests begin and continue a conversation with the agent front on each surface. SESSION
// stands for the session and TEXT for the message.
var deskRequests = map[string]struct{ session, say string }{
	"native":          {`/runtime/v1/sessions {"agent_id":"front"}`, `/runtime/v1/turns {"session_id":"SESSION","input":[{"role":"user","parts":[{"type":"text","text":"TEXT"}]}]}`},
	"runs":            {annPath + `/agent-sessions {"agentId":"front"}`, annPath + `/agent-sessions/SESSION/messages {"prompt":"TEXT"}`},
	"runs with model": {annPath + `/agent-sessions {"agentId":"front","modelId":"m"}`, annPath + `/agent-sessions/SESSION/messages {"prompt":"TEXT"}`},
	"sessions":        {`/api/v1/agent/sessions {"provider":"front"}`, `/api/v1/agent/sessions/SESSION/turns {"messages":[{"role":"user","text":"TEXT"}]}`},
	"agents":          {"", `/agents/front {"data":{"message":{"role":"user","content":[{"text":"TEXT"}]}},"init":{"sessionId":"s"}}`},
	"a2a":             {"", `/a2a/front/message:send {"message":{"messageId":"m-TEXT","contextId":"c","role":"ROLE_USER","parts":[{"text":"TEXT"}]}}`},
	"workflow":        {"", `/workflow/events {"type":"front","source":"s","id":"TEXT","data":{"say":"TEXT"}}`},
}

// lastTurn waits until there are n turns and the latest has ended, and returns it.
func (w *town) lastTurn(t *testing.T, n int) *service.Turn {
	t.Helper()
	var last *service.Turn
	eventually(t, func() bool {
		page, err := w.app.Service().ListTurns(t.Context(), service.Operator(), service.TurnQuery{Page: store.Page{Limit: store.MaxPage}})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Turns) != n {
			return false
		}
		last = page.Turns[0]
		return !last.Status.Live()
	})
	if last.Status != store.Succeeded || last.Outcome == nil {
		t.Fatalf("turn %s is %s: %+v", last.ID, last.Status, last.Outcome)
	}
	return last
}

func TestEverySurfaceContinuesWithTheAgentThatTookOver(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"session": "billing billing front", "per_turn": "billing front front"} {
		for surface, r := range deskRequests {
			t.Run(policy+"/"+surface, func(t *testing.T) {
				t.Parallel()
				w := &town{served: serveLogged(t, fmt.Sprintf(desks, policy), deskScript, zap.NewNop())}
				session := ""
				if path, body, ok := strings.Cut(r.session, " "); ok {
					made := w.readable(t, http.MethodPost, path, body)
					for _, name := range []string{"id", "sessionId"} {
						if id, ok := made[name].(string); ok {
							session = id
						}
					}
				}
				path, body, _ := strings.Cut(r.say, " ")
				say := func(n int, text string) *service.Turn {
					replace := strings.NewReplacer("SESSION", session, "TEXT", text)
					if got := w.ask(t, http.MethodPost, replace.Replace(path), replace.Replace(body), bearer(annKey)); got.status >= http.StatusBadRequest {
						t.Fatalf("%s: %d %s", text, got.status, got.body)
					}
					return w.lastTurn(t, n)
				}
				first, second := say(1, "refund"), say(2, "more")
				if first.SessionID != second.SessionID {
					t.Fatalf("the turns belong to the sessions %s and %s", first.SessionID, second.SessionID)
				}
				if _, err := w.app.Service().CreateTurn(t.Context(), service.Operator(), service.CreateTurn{
					SessionID: first.SessionID, AgentID: "front", Input: []model.Message{model.User("take it back")},
				}); err != nil {
					t.Fatal(err)
				}
				w.lastTurn(t, 3)
				third := say(4, "again")
				if got := first.Outcome.Agent + " " + second.Outcome.Agent + " " + third.Outcome.Agent; got != want {
					t.Errorf("the turns end with the agents %s, want %s", got, want)
				}
				for _, turn := range []*service.Turn{first, second, third} {
					if turn.AgentID != "front" {
						t.Errorf("turn %s is for agent %s", turn.ID, turn.AgentID)
					}
				}
			})
		}
	}
}
