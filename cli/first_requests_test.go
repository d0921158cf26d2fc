package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// slowStart is a configuration whose agent has a slow start hook. %s is the end of the hook.
const slowStart = `version: 1
providers: {demo: {type: scripted}}
models: {m: {provider_id: demo, upstream_model: x}}
agents:
  slow:
    model_id: m
    description: Begins slowly.
    session_start: [{id: wait, command: [/bin/sh, -c, "sleep 0.3; %s"], env: {PLACE: %q}}]
workflows:
  slow:
    tenant: acme
    events: [{type: slow}]
    steps: [{id: a, agent: {agent: slow, prompt: "${{ input.say }}", session_key: k}}]
store: {driver: memory}
server:
  listen: 127.0.0.1:0
  keys: [{id: ann, key: ` + annKey + `, tenant: acme, subject: ann}]
  agents: {}
  sessions: {providers: {slow: {agent: slow, default: true}}}
`

// firstRequests are the requests with which each surface begins and continues a conversation under
// a client-chosen name. N is different for each client, and SESSION is the session that the first
// request returned.
var firstRequests = map[string][]string{
	"native":   {`/runtime/v1/sessions {"id":"new","agent_id":"slow"}`, `/runtime/v1/turns {"session_id":"new","input":[{"role":"user","parts":[{"type":"text","text":"N"}]}]}`},
	"runs":     {annPath + `/agent-sessions {"agentId":"slow"}`, annPath + `/agent-sessions/SESSION/messages {"prompt":"hi"}`},
	"sessions": {`/api/v1/agent/sessions {"provider":"slow"}`, `/api/v1/agent/sessions/SESSION/turns {"messages":[{"role":"user","text":"N"}]}`},
	"agents":   {`/agents/slow {"data":{"message":{"role":"user","content":[{"text":"N"}]}},"init":{"sessionId":"new"}}`},
	"a2a":      {`/a2a/slow/message:send {"message":{"messageId":"N","contextId":"new","role":"ROLE_USER","parts":[{"text":"N"}]}}`},
	"workflow": {`/workflow/events {"type":"slow","source":"s","id":"N","data":{"say":"N"}}`},
}

// beginFirst sends one client's requests and returns the status of a rejected request.
func (w *town) beginFirst(t *testing.T, surface string, client int) int {
	t.Helper()
	session := ""
	for i, request := range firstRequests[surface] {
		path, body, _ := strings.Cut(strings.NewReplacer("SESSION", session, `"N"`, fmt.Sprintf(`"c%d"`, client)).Replace(request), " ")
		header := bearer(annKey)
		if i == 0 && (surface == "runs" || surface == "sessions") {
			header.Set("Idempotency-Key", "first")
		}
		got := w.ask(t, http.MethodPost, path, body, header)
		if got.status >= http.StatusBadRequest && (got.status != http.StatusConflict || i > 0) {
			return got.status
		}
		answer, _ := decodeNumbers(got.body)
		for _, name := range []string{"id", "sessionId"} {
			if id, ok := answer[name].(string); ok {
				session = id
			}
		}
	}
	return 0
}

// Clients that begin the same conversation concurrently share the new session. If the first
// client's start hook fails, another starts the session.
func TestFirstRequestsOnEverySurfaceShareTheNewSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"the hook succeeds": "true", "the first hook fails": "mkdir $PLACE/first && exit 1 || true"} {
		for surface := range firstRequests {
			t.Run(name+"/"+surface, func(t *testing.T) {
				t.Parallel()
				w := &town{served: serveLogged(t, fmt.Sprintf(slowStart, end, t.TempDir()), "", zap.NewNop())}
				const n = 5
				refused := make([]int, n)
				var group sync.WaitGroup
				for i := range refused {
					group.Go(func() { refused[i] = w.beginFirst(t, surface, i) })
				}
				group.Wait()
				failed := 0
				for _, status := range refused {
					if status != 0 {
						failed++
					}
				}
				if failed > strings.Count(end, "exit 1") {
					t.Errorf("the clients are refused with %v", refused)
				}
				want := n - failed
				eventually(t, func() bool {
					page, err := w.app.Service().ListTurns(t.Context(), service.Operator(), service.TurnQuery{Statuses: []store.Status{store.Succeeded}, Page: store.Page{Limit: n}})
					return err == nil && len(page.Turns) >= want-strings.Count(end, "exit 1")
				})
				page, err := w.app.Service().ListSessions(t.Context(), service.Operator(), service.SessionQuery{AgentID: "slow"})
				if err != nil || len(page.Sessions) != 1 {
					t.Errorf("there are %d sessions, %v", len(page.Sessions), err)
				}
			})
		}
	}
}
