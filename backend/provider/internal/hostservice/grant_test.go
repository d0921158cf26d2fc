package hostservice

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hosting returns a service with the turns t1 and t2 of the session s.
func hosting(t *testing.T, provider string, key []byte) (s *Service, one, two *CallQueue) {
	t.Helper()
	s = New(provider, key, func() providerproto.Manager { return nil })
	t.Cleanup(s.Close)
	open := func(turn string) *CallQueue {
		d, err := s.Open(&Turn{SessionID: "s", TurnID: turn, Until: time.Now().Add(time.Hour), Tools: []Tool{{Tool: model.Tool{Name: "pay"}}},
			Connections: map[string]Connection{"bank": {Headers: map[string]string{"Authorization": "secret"}}}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return s, open("t1"), open("t2")
}

// calls are the requests to the service, each of which presents a grant.
var calls = map[string]func(s *Service, grant, session, turn string) error{
	"ListTools": func(s *Service, grant, session, turn string) error {
		_, err := s.ListTools(context.Background(), &providerproto.ListAgentToolsRequest{SessionId: session, TurnId: turn, RunGrant: grant})
		return err
	},
	"ExecuteTool": func(s *Service, grant, session, turn string) error {
		_, err := s.ExecuteTool(context.Background(), &providerproto.ExecuteAgentToolRequest{SessionId: session, TurnId: turn, RunGrant: grant, ToolCallId: "c", ToolId: "none"})
		return err
	},
	"ResolveConnection": func(s *Service, grant, session, turn string) error {
		_, err := s.ResolveConnection(context.Background(), &providerproto.ResolveAgentConnectionRequest{SessionId: session, TurnId: turn, RunGrant: grant, Connection: "bank"})
		return err
	},
}

func TestACallNeedsTheGrantOfItsTurn(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	s, one, two := hosting(t, "desk", key)
	_, foreign, _ := hosting(t, "desk", []byte(strings.Repeat("x", 32)))
	_, sibling, _ := hosting(t, "other", key)
	sign := func(until time.Time) string {
		grant, err := signGrant(key, "earlier", "desk", "s", "t1", until)
		if err != nil {
			t.Fatal(err)
		}
		return grant
	}
	parts := strings.Split(one.Grant, ".")
	for name, c := range map[string]struct{ grant, session, turn string }{
		"without a grant":             {"", "s", "t1"},
		"that is no grant":            {"grant", "s", "t1"},
		"that is very long":           {strings.Repeat("g", maxGrant+1), "s", "t1"},
		"signed with another key":     {foreign.Grant, "s", "t1"},
		"of another provider":         {sibling.Grant, "s", "t1"},
		"without its signature":       {parts[0] + "." + parts[1] + ".", "s", "t1"},
		"with the algorithm none":     {"eyJhbGciOiJub25lIn0." + parts[1] + ".", "s", "t1"},
		"with claims of another turn": {parts[0] + "." + strings.Split(two.Grant, ".")[1] + "." + parts[2], "s", "t2"},
		"that has expired":            {sign(time.Now().Add(-time.Second)), "s", "t1"},
		"of another turn":             {two.Grant, "s", "t1"},
		"in another session":          {one.Grant, "other", "t1"},
		"of an unknown turn":          {one.Grant, "s", "t3"},
	} {
		for method, call := range calls {
			if err := call(s, c.grant, c.session, c.turn); status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s %s: %v", method, name, err)
			}
		}
	}
	for method, call := range calls {
		if err := call(s, one.Grant, "s", "t1"); err != nil {
			t.Errorf("%s with its grant: %v", method, err)
		}
	}
}

func TestAGrantEndsWithItsTurn(t *testing.T) {
	s, one, two := hosting(t, "desk", nil)
	waiting := make(chan error, 1)
	go func() {
		_, err := s.ExecuteTool(context.Background(), &providerproto.ExecuteAgentToolRequest{SessionId: "s", TurnId: "t1", RunGrant: one.Grant, ToolCallId: "c", ToolId: "pay"})
		waiting <- err
	}()
	<-one.Waiting()
	s.CloseTurn("t1")
	if err := <-waiting; status.Code(err) != codes.PermissionDenied {
		t.Errorf("a call that waited: %v", err)
	}
	for method, call := range calls {
		if err := call(s, one.Grant, "s", "t1"); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s after the end: %v", method, err)
		}
		if err := call(s, two.Grant, "s", "t2"); err != nil {
			t.Errorf("%s of the turn that goes on: %v", method, err)
		}
	}
}

func TestAGrantOutlivesARestart(t *testing.T) {
	_, before, _ := hosting(t, "desk", nil)
	s := New("desk", nil, func() providerproto.Manager { return nil }) // another process, with another key
	t.Cleanup(s.Close)
	for method, call := range calls {
		s.CloseTurn("t1")
		called := make(chan error, 1) // possibly before the turn starts
		go func() { called <- call(s, before.Grant, "s", "t1") }()
		if _, err := s.Open(&Turn{SessionID: "s", TurnID: "t1", Until: time.Now().Add(time.Hour), Earlier: HashGrant(before.Grant),
			Connections: map[string]Connection{"bank": {}}}); err != nil {
			t.Fatal(err)
		}
		if err := <-called; err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if err := call(s, before.Grant+"x", "s", "t1"); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s with another grant: %v", method, err)
		}
	}
}

func FuzzCheckGrant(f *testing.F) {
	key := []byte(strings.Repeat("k", 32))
	grant, err := signGrant(key, "earlier", "desk", "s", "t1", time.Now().Add(time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(grant)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, text string) {
		if claims, signed, err := checkGrant(key, text, time.Now()); err == nil && signed && (claims.Provider != "desk" || claims.Turn != "t1") {
			t.Errorf("%q is a grant of %+v", text, claims)
		}
	})
}
