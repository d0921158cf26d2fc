package service_test

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// TestCallersUseTheSameIDs lets two subjects choose the same ids, and repeat their requests.
func TestCallersUseTheSameIDs(t *testing.T) {
	s := serve(t, turntest.Build(t, turntest.WithAgents(&turntest.Answerer{}, spec.Agent{ID: "plain"})))
	made := map[string]bool{}
	for _, caller := range []service.Caller{{Tenant: "a", Subject: "ann"}, {Tenant: "a", Subject: "ben"}, {Tenant: "b", Subject: "ann"}} {
		var last string
		for range 2 {
			session, err := s.CreateSession(t.Context(), caller, service.CreateSession{ID: "s", AgentID: "plain", IdempotencyKey: "k"})
			if err != nil {
				t.Fatal(err)
			}
			turn := says(session.ID, "hello")
			turn.ID, turn.IdempotencyKey = "t", "k"
			created, err := s.CreateTurn(t.Context(), caller, turn)
			if err != nil {
				t.Fatal(err)
			}
			if last != "" && last != created.ID || event.ShownID(created.ID) != "t" || event.ShownID(session.ID) != "s" {
				t.Errorf("%v has the session %s and the turns %s and %s", caller, session.ID, last, created.ID)
			}
			last = created.ID
		}
		if made[last] {
			t.Errorf("%v has the turn of another caller", caller)
		}
		made[last] = true
		_, err := s.CreateSession(t.Context(), caller, service.CreateSession{ID: "s", AgentID: "plain"})
		if taken, ok := errors.AsType[*service.ExistsError](err); !ok || taken.ID != "s" {
			t.Errorf("%v may use its id twice: %v", caller, err)
		}
		found, err := service.FindOwn(caller, "t", func(id string) (*service.Turn, error) { return s.GetTurn(t.Context(), caller, id) })
		if err != nil || found.ID != last {
			t.Errorf("%v finds %v, %v", caller, found, err)
		}
	}
	if _, err := s.CreateSession(t.Context(), alice, service.CreateSession{ID: "s" + event.IDMark + "x", AgentID: "plain"}); err == nil {
		t.Error("a caller chooses a mark")
	}
}
