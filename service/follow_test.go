package service_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// readings is a store that counts how often turns, events and positions are read.
type readings struct {
	store.Store
	turns, events, positions atomic.Int64
}

func (r *readings) Positions(ctx context.Context, turnIDs []string) ([]store.Position, error) {
	r.positions.Add(1)
	return r.Store.Positions(ctx, turnIDs)
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
// and is canceled in the end.
func TestWhoFollowsATurnIsToldThatNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := idle(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "walker"})))
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
		s := idle(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "walker"})), on(kept))
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
		if turns, events := kept.turns.Load(), kept.events.Load(); turns > 0 || events > readers {
			t.Errorf("the turn is read %d times, and its events %d times", turns, events)
		}
		if _, err := s.CancelTurn(t.Context(), alice, turn.ID, "enough"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestWhoWaitsForATurnOfThisProcessReadsItOnce waits for turns that run here: the store is
// asked only for what became of them, and at once when there is something to read.
func TestWhoWaitsForATurnOfThisProcessReadsItOnce(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *service.Service, id string, finish func())
		want store.Status
	}{
		"it succeeds": {func(_ *testing.T, _ *service.Service, _ string, finish func()) { finish() }, store.Succeeded},
		"it is canceled": {func(t *testing.T, s *service.Service, id string, _ func()) {
			if _, err := s.CancelTurn(t.Context(), alice, id, "enough"); err != nil {
				t.Error(err)
			}
		}, store.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				halted := make(chan struct{})
				finish := sync.OnceFunc(func() { close(halted) })
				kept := &readings{Store: newMemory(t)}
				s := serve(t, halting(t, func() { <-halted }), on(kept))
				defer finish()
				turn := create(t, s, says(session(t, s, "a"), "go"))
				synctest.Wait()
				kept.turns.Store(0)
				waited := make(chan *service.Turn)
				go func() {
					end, err := s.WaitTurn(t.Context(), alice, turn.ID)
					if err != nil {
						t.Error(err)
					}
					waited <- end
				}()
				synctest.Wait()
				if n := kept.turns.Load(); n > 0 {
					t.Errorf("the turn is read %d times while it runs here", n)
				}
				begun := time.Now()
				c.end(t, s, turn.ID, finish)
				if end := <-waited; end == nil || end.Status != c.want || end.Outcome == nil || time.Since(begun) > 0 {
					t.Errorf("after %s: %+v", time.Since(begun), end)
				}
				if n := kept.turns.Load(); c.want == store.Succeeded && n != 1 {
					t.Errorf("the turn is read %d times", n)
				}
			})
		})
	}
}

// TestATurnThatRunsIsHiddenFromWhoDoesNotSeeIt waits for a turn of somebody else.
func TestATurnThatRunsIsHiddenFromWhoDoesNotSeeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halted := make(chan struct{})
		s := serve(t, halting(t, func() { <-halted }))
		defer close(halted)
		turn := create(t, s, says(session(t, s, "a"), "go"))
		synctest.Wait()
		for _, caller := range []service.Caller{bob, mayUse("another")} {
			if end, err := s.WaitTurn(t.Context(), caller, turn.ID); !errors.Is(err, service.ErrNotFound) {
				t.Errorf("%+v is given %+v, %v", caller, end, err)
			}
			for record, err := range s.Events(t.Context(), caller, turn.ID, 0) {
				if !errors.Is(err, service.ErrNotFound) {
					t.Errorf("%+v is shown %s, %v", caller, record.Type, err)
				}
			}
		}
	})
}

// TestQuietTurnsAreLookedAtWithOneQuery follows many turns with nothing to say: the
// store is asked for all of them at once. One that then ends in another process is
// noticed all the same.
func TestQuietTurnsAreLookedAtWithOneQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &readings{Store: newMemory(t)}
		s := idle(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "walker"})), on(kept))
		const turns, minutes = 200, 10
		var over atomic.Int64
		ids := make([]string, turns)
		for i := range turns {
			turn := create(t, s, says(session(t, s, "walker"), "x"))
			ids[i] = turn.ID
			go func() {
				for batch, err := range s.Follow(t.Context(), alice, turn, 0, 0) {
					if err != nil || len(batch) != 1 || !batch[0].Terminal() {
						t.Errorf("turn %s: %v, %v", turn.ID, typesOf(batch), err)
					}
				}
				over.Add(1)
			}()
		}
		kept.turns.Store(0)
		time.Sleep(minutes * time.Minute)
		synctest.Wait()
		if n, each := kept.positions.Load(), kept.turns.Load(); n > minutes*60/2+1 || each > 0 {
			t.Errorf("the store is asked %d times for all turns, and %d times for one", n, each)
		}
		for _, id := range ids {
			finish, err := event.NewRecord(event.Event{Time: time.Now(), Data: &event.RunFinish{Status: "failed"}})
			if err == nil {
				_, err = kept.EndTurn(t.Context(), &store.EndTurn{Scope: store.Everything, TurnID: id, Status: store.Failed, Result: []byte("{}"), Event: finish, Now: time.Now()})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := over.Load(); n != turns {
			t.Errorf("%d turns are over", n)
		}
	})
}
