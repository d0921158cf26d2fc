package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// jumpy is a settable clock.
type jumpy struct{ by atomic.Int64 }

func (j *jumpy) now() time.Time         { return time.Now().Add(time.Duration(j.by.Load())) }
func (j *jumpy) jump(by time.Duration)  { j.by.Store(int64(by)) }
func (j *jumpy) of(s *service.Settings) { s.Clock = j.now }

// swept is a store that counts queries for dead workers.
type swept struct {
	store.Store
	reaps atomic.Int64
}

func (s *swept) Reap(ctx context.Context, now time.Time) (int, error) {
	n, err := s.Store.Reap(ctx, now)
	s.reaps.Add(1)
	return n, err
}

func (s *swept) of(v *service.Settings) { s.Store, v.Store = v.Store, s }

// again waits until each store was queried twice from now on.
func again(t *testing.T, stores []swept) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	want := make([]int64, len(stores))
	for i := range stores {
		want[i] = stores[i].reaps.Load() + 3 // one is under way
	}
	if err := poll(ctx, func() bool {
		for i := range stores {
			if stores[i].reaps.Load() < want[i] {
				return false
			}
		}
		return true
	}); err != nil {
		t.Fatal("nobody looks for dead workers")
	}
}

func TestAClockThatJumpsTakesNoTurnFromItsWorker(t *testing.T) {
	for _, driver := range []string{onSQLite, onPostgres} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			p := nowhere(t, driver)
			p.Lease = 600 * time.Millisecond
			replicas := 1
			if driver == onPostgres {
				replicas = 2
			}
			clocks, stores := make([]jumpy, replicas), make([]swept, replicas)
			services := make([]*engine, replicas)
			for i := range replicas {
				services[i] = visit(t, p, clocks[i].of, stores[i].of)
				if err := services[i].Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			load := newWorkload(t, func(context.Context) (gateway, error) { return direct{services[0].Service}, nil })
			load.open(t, "session")
			release := filepath.Join(t.TempDir(), "release")
			load.make(t.Context(), "session", plan{Turn: "long", Steps: [][]string{{pay}, {wait}, {pay}}, File: release}, true)
			atTool(t, p, "long", callID(1, 0), 1)
			for i := range replicas {
				for _, by := range []time.Duration{3 * time.Hour, -3 * time.Hour, 0} {
					clocks[i].jump(by)
					again(t, stores)
				}
			}
			if err := os.WriteFile(release, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			load.end(t, "long")
			turn, err := stores[0].Turn(t.Context(), store.Everything, "long")
			if err != nil || turn.Fence != 1 || turn.Strikes != 0 || turn.Status != store.Succeeded {
				t.Errorf("the turn is %+v, %v", turn, err)
			}
			for _, m := range readWitness(t, p.Witness) {
				if m.What == stops {
					t.Errorf("call %s was stopped", m.Call)
				}
			}
			check(t.Context(), t, &stores[0], load, readWitness(t, p.Witness))
		})
	}
}
