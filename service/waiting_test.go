package service_test

import (
	"context"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/store"
)

// suspensions checks that the event of a wait is in the commit that makes the turn
// wait, and in no other.
type suspensions struct {
	store.Store
	t *testing.T
}

func (s suspensions) Commit(ctx context.Context, c *store.Commit) error {
	says := slices.IndexFunc(c.Events, func(r event.Record) bool { return r.Type == event.TypeRunWaiting })
	switch {
	case c.Suspend == nil && says >= 0:
		s.t.Error("the log has a wait of a turn that continues")
	case c.Suspend != nil && says != len(c.Events)-1:
		s.t.Errorf("a turn is suspended, but its last event does not report it: %+v", c.Events)
	}
	return s.Store.Commit(ctx, c)
}

func TestTheLogSaysThatATurnWaits(t *testing.T) {
	s := serve(t, turntest.Asking(t), on(suspensions{newMemory(t), t}))
	var seen turntest.Events
	turn, err := s.RunTurn(t.Context(), alice, says(session(t, s, "clerk"), "x"), &seen)
	if err != nil || turn.Status != store.Waiting {
		t.Fatalf("the turn is %+v, %v", turn, err)
	}
	last, ok := seen.List[len(seen.List)-1].Data.(*event.RunWaiting)
	if !ok || !slices.Equal(last.Interactions, []string{"may_a", "may_b"}) {
		t.Errorf("the last event is %+v", seen.List[len(seen.List)-1].Data)
	}
	for _, id := range []string{"may_a", "may_b"} {
		if _, err := s.AnswerInteraction(t.Context(), alice, turn.ID, turntest.Yes(id)); err != nil {
			t.Fatal(err)
		}
	}
	if turn := ended(t, s, turn.ID); turn.Status != store.Succeeded {
		t.Errorf("the turn is %+v", turn)
	}
}
