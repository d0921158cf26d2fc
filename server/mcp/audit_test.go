package mcp

import (
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// operations returns the audited operations of requests, in order.
func (w *world) operations() (list []string) {
	for _, e := range w.logs.FilterMessage("audit").All() {
		operation, _ := e.ContextMap()["operation"].(string)
		list = append(list, operation)
	}
	slices.Sort(list)
	return list
}

func TestOnlyMessagesThatChangeTurnsAreAudited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		version, message string
		want             []string
	}{
		"a call":              {eras["stateful"], "hi", []string{"create_turn"}},
		"a stateless call":    {eras["stateless"], "hi", []string{"create_turn"}},
		"an answer":           {eras["stateful"], "call pay", []string{"create_turn", "resolve_interaction"}},
		"a call with answers": {eras["stateless"], "call pay", []string{"create_turn", "resolve_interaction"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serving(t)
			a := &asker{answer: func(*mcp.ElicitParams) *mcp.ElicitResult {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approved": true}}
			}}
			session := w.connect("alice", "/mcp", tt.version, a.options())
			toolNames(t, session)
			w.say(session, "clerk", tt.message)
			w.waitFor(func() bool { return len(w.operations()) >= len(tt.want) })
			if got := w.operations(); !slices.Equal(got, tt.want) {
				t.Errorf("audited are %v and should be %v", got, tt.want)
			}
		})
	}
}

func TestRejectedMessagesAreAudited(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.post("", "/mcp", tell)
	w.post("alice", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clerk"}}`)
	w.post("alice", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	w.post("alice", "/mcp", tell)
	w.post("alice", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"tools/list","params":{"name":"clerk"}}`)
	want := []string{"cancel_turn", "create_turn", "create_turn", "create_turn"}
	w.waitFor(func() bool { return len(w.operations()) >= len(want) })
	if got := w.operations(); !slices.Equal(got, want) {
		t.Errorf("audited are %v and should be %v", got, want)
	}
}
