package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// readings is a store that counts how often turns and events are read.
type readings struct {
	store.Store
	turns, events atomic.Int64
}

func (r *readings) Turn(ctx context.Context, scope store.Scope, id string) (*store.Turn, error) {
	r.turns.Add(1)
	return r.Store.Turn(ctx, scope, id)
}

func (r *readings) Events(ctx context.Context, turnID string, after uint64, limit int) ([]event.Record, error) {
	r.events.Add(1)
	return r.Store.Events(ctx, turnID, after, limit)
}

// TestWhoFollowsATurnIsToldThatNothingHappens follows a turn that nobody works on,
// and is cancelled in the end.
func TestWhoFollowsATurnIsToldThatNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := idle(t, build(t, withAgents(scripts(nil), spec.Agent{ID: "walker"})))
		turn := create(t, s, says(session(t, s, "walker"), "x"))
		begun, quiet := time.Now(), 0
		var seen []event.Record
		for batch, err := range s.Follow(t.Context(), alice, turn, 0, time.Minute) {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, batch...)
			if len(batch) > 0 {
				continue
			}
			if quiet++; quiet == 3 {
				if took := time.Since(begun); took != 3*time.Minute {
					t.Errorf("it is said three times in %s", took)
				}
				if _, err := s.CancelTurn(t.Context(), alice, turn.ID, "enough"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if quiet != 3 || len(seen) != 1 || !seen[0].Terminal() {
			t.Errorf("nothing happens %d times, and then %v", quiet, typesOf(seen))
		}
	})
}

// TestAQuietTurnIsReadOnceForAll counts how often the store is asked by those who
// follow a turn with nothing to say.
func TestAQuietTurnIsReadOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &readings{Store: newMemory(t)}
		s := idle(t, build(t, withAgents(scripts(nil), spec.Agent{ID: "walker"})), on(kept))
		turn := create(t, s, says(session(t, s, "walker"), "x"))
		const readers, minutes = 50, 10
		kept.turns.Store(0)
		for range readers {
			go func() {
				for range s.Follow(t.Context(), alice, turn, 0, time.Minute) {
				}
			}()
		}
		time.Sleep(minutes * time.Minute)
		synctest.Wait()
		if turns, events := kept.turns.Load(), kept.events.Load(); turns > minutes*60/2+1 || events > readers {
			t.Errorf("the turn is read %d times, and its events %d times", turns, events)
		}
		if _, err := s.CancelTurn(t.Context(), alice, turn.ID, "enough"); err != nil {
			t.Fatal(err)
		}
	})
}
