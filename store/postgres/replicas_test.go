package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
)

func TestReplicasMigrateTogether(t *testing.T) {
	t.Parallel()
	s := store.Settings{DSN: pgtest.Start(t).Database(t)}
	if _, err := postgres.Open(t.Context(), s); !isSchema(err, 0) {
		t.Errorf("an empty database was opened: %v", err)
	}
	var (
		mu      sync.Mutex
		applied []string
		all     sync.WaitGroup
	)
	for range 5 {
		all.Go(func() {
			names, err := postgres.Migrate(t.Context(), s)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			applied = append(applied, names...)
		})
	}
	all.Wait()
	if len(applied) == 0 || len(applied) != len(slices.Compact(slices.Sorted(slices.Values(applied)))) {
		t.Errorf("applied %q", applied)
	}
	open(t, s)
}

func TestADatabaseOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	settings := database(t)
	s := open(t, settings)
	if _, err := s.Pool().Exec(t.Context(), "INSERT INTO agentruntime_migrations (version_id, is_applied) VALUES (9999, true)"); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), settings); !isSchema(err, 9999) {
		t.Errorf("open: %v", err)
	}
	if _, err := postgres.Migrate(t.Context(), settings); !isSchema(err, 9999) {
		t.Errorf("migrate: %v", err)
	}
}

func isSchema(err error, have int64) bool {
	schema, ok := errors.AsType[*store.SchemaError](err)
	return ok && schema.Have == have && schema.Want > 0
}

func TestAWorkerOfAnotherReplicaTakesOverWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	settings := database(t)
	one, two := open(t, settings), open(t, settings)
	jobs := &queue{}
	two.Attach(jobs)
	turnID := newTurn(t, one, newSession(t, one))
	old := claim(t, one, turnID, time.Microsecond)
	if n, err := two.Reap(t.Context(), at); err != nil || n != 1 {
		t.Fatalf("%d turns were reaped, error %v", n, err)
	}
	if got := jobs.taken(); !slices.Equal(got, []string{turnID}) {
		t.Errorf("the jobs are %q", got)
	}
	fence := claim(t, two, turnID, time.Minute)
	err := one.Commit(t.Context(), appended(turnID, old, 1, `{"from":"one"}`))
	if fenced, ok := errors.AsType[*store.FencedError](err); !ok || fenced.Fence != old {
		t.Errorf("the commit of the old worker: %v", err)
	}
	lost, err := one.Heartbeat(t.Context(), "worker", time.Minute, []store.Held{{TurnID: turnID, Fence: old}})
	if err != nil || !slices.Equal(lost, []string{turnID}) {
		t.Errorf("the heartbeat of the old worker lost %q, error %v", lost, err)
	}
	if err := two.Commit(t.Context(), appended(turnID, fence, 1, `{"from":"two"}`)); err != nil {
		t.Error(err)
	}
	events, err := one.Events(t.Context(), turnID, 0, 10)
	if err != nil || len(events) != 1 || string(events[0].Data) != `{"from":"two"}` {
		t.Errorf("events %v, error %v", events, err)
	}
}

func TestReplicasReapEachTurnOnce(t *testing.T) {
	t.Parallel()
	settings := database(t)
	stores := []*postgres.Store{open(t, settings), open(t, settings)}
	jobs := &queue{}
	for _, s := range stores {
		s.Attach(jobs)
	}
	const turns = 40
	for range turns {
		claim(t, stores[0], newTurn(t, stores[0], newSession(t, stores[0])), time.Microsecond)
	}
	jobs.taken()
	counts := make([]int, 6)
	var all sync.WaitGroup
	for i := range counts {
		all.Go(func() {
			n, err := stores[i%2].Reap(t.Context(), at)
			if err != nil {
				t.Error(err)
			}
			counts[i] = n
		})
	}
	all.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if got := jobs.taken(); sum != turns || len(got) != turns {
		t.Errorf("%v turns were reaped, and %d jobs queued", counts, len(got))
	}
}

func TestATenantsLimitHoldsAcrossReplicas(t *testing.T) {
	t.Parallel()
	const limit, turns = 3, 30
	settings := database(t)
	settings.TenantTurns = limit
	stores := []*postgres.Store{open(t, settings), open(t, settings)}
	jobs := &queue{}
	for _, s := range stores {
		s.Attach(jobs)
	}
	var all sync.WaitGroup
	for i := range turns {
		all.Go(func() { newTurn(t, stores[i%2], newSession(t, stores[i%2])) })
	}
	all.Wait()
	ended := 0
	for ended < turns {
		admitted := jobs.taken()
		if len(admitted) != min(limit, turns-ended) {
			t.Fatalf("after %d turns %d are admitted", ended, len(admitted))
		}
		for i, id := range admitted {
			all.Go(func() {
				s := stores[i%2]
				c, err := s.Claim(t.Context(), &store.Claim{TurnID: id, Worker: "worker", Lease: time.Minute, Now: at})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Commit(t.Context(), finished(id, c.Turn.Fence)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		ended += len(admitted)
	}
}

func TestTurnsOfASessionGoOneAfterAnotherThroughReplicas(t *testing.T) {
	t.Parallel()
	settings := database(t)
	stores := []*postgres.Store{open(t, settings), open(t, settings)}
	jobs := &queue{}
	for _, s := range stores {
		s.Attach(jobs)
	}
	sessionID := newSession(t, stores[0])
	var made []string
	for i := range 8 {
		made = append(made, newTurn(t, stores[i%2], sessionID))
	}
	for i, id := range made {
		if got := jobs.taken(); !slices.Equal(got, []string{id}) {
			t.Fatalf("the jobs before turn %d are %q", i, got)
		}
		if i+1 < len(made) {
			_, err := stores[i%2].Claim(t.Context(), &store.Claim{TurnID: made[i+1], Worker: "w", Lease: time.Minute, Now: at})
			if !errors.Is(err, store.ErrHeld) {
				t.Errorf("the next turn was claimed: %v", err)
			}
		}
		fence := claim(t, stores[i%2], id, time.Minute)
		if err := stores[(i+1)%2].Commit(t.Context(), finished(id, fence)); err != nil {
			t.Fatal(err)
		}
	}
	v, err := stores[0].Session(t.Context(), store.Everything, sessionID)
	if err != nil || v.Tip != "snap-"+made[len(made)-1] {
		t.Errorf("the tip is %q, error %v", v.Tip, err)
	}
}

func TestNotificationsReachOtherReplicas(t *testing.T) {
	t.Parallel()
	settings := database(t)
	one, two := open(t, settings), open(t, settings)
	heard, ended := listen(t.Context(), two)
	// More than fit into one notification.
	want := make(map[string]bool)
	ringing := time.NewTicker(5 * time.Millisecond)
	defer ringing.Stop()
	for i := range 600 {
		want[fmt.Sprintf("turn-%030d", i)] = true
	}
	deadline := time.After(20 * time.Second)
	for len(want) > 0 {
		select {
		case <-ringing.C: // until the listener listens
			for id := range want {
				one.Notifier().Notify(id)
			}
		case ids := <-heard:
			for _, id := range ids {
				delete(want, id)
			}
		case <-deadline:
			t.Fatalf("%d notifications were not heard", len(want))
		}
	}
	go func() {
		for range heard { // notifications that are still under way
		}
	}()
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, postgres.ErrClosed) {
		t.Errorf("the listener ended with %v", err)
	}
	close(heard)
}

// listen returns what a store's notifier lets hear, and why that ended.
func listen(ctx context.Context, s *postgres.Store) (heard chan []string, ended chan error) {
	heard, ended = make(chan []string), make(chan error, 1)
	go func() {
		ended <- s.Notifier().Listen(ctx, func(ids []string) { heard <- ids })
	}()
	return heard, ended
}

func TestAJobThatWasLostIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	q := new(queue)
	s.Attach(q)
	id := newTurn(t, s, newSession(t, s))
	q.taken() // by a process that died before it claimed the turn
	for _, c := range []struct {
		later time.Duration
		want  []string
	}{{time.Second, nil}, {time.Minute, []string{id}}, {time.Minute + time.Second, nil}} {
		if n, err := s.Reap(t.Context(), at.Add(c.later)); n != 0 || err != nil {
			t.Fatalf("%d turns were reaped, error %v", n, err)
		}
		if got := q.taken(); !slices.Equal(got, c.want) {
			t.Errorf("after %s the turns %q are queued, not %q", c.later, got, c.want)
		}
	}
}
