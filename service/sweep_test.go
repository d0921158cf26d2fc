package service_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// prunings is a store that notes when it was pruned, and by what time.
type prunings struct {
	store.Store
	at, by []time.Time
}

func (p *prunings) Prune(_ context.Context, r store.Retention) (store.Pruned, error) {
	p.at, p.by = append(p.at, time.Now()), append(p.by, r.Now)
	return store.Pruned{}, nil
}

// TestWhatIsTooOldIsDeletedSoonAfterTheStart holds for processes that do not live
// long, and for those that do.
func TestWhatIsTooOldIsDeletedSoonAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &prunings{Store: newMemory(t)}
		var asked []time.Duration
		begun, days := time.Now(), 100*24*time.Hour
		serve(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "walker"})), on(kept), func(v *service.Settings) {
			v.Retention = store.Retention{Events: time.Hour}
			v.Clock = func() time.Time { return time.Now().Add(days) }
			v.Jitter = func(most time.Duration) time.Duration {
				asked = append(asked, most)
				return most / 2
			}
		})
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		var after []time.Duration
		for i, at := range kept.at {
			if after = append(after, at.Sub(begun)); !kept.by[i].Equal(at.Add(days).UTC()) {
				t.Errorf("at %s it is pruned by %s", at, kept.by[i])
			}
		}
		first, hour := 5*time.Second, time.Hour+150*time.Second
		if want := []time.Duration{first, first + hour, first + 2*hour}; !slices.Equal(after, want) {
			t.Errorf("it is pruned after %v, want %v, with parts of %v", after, want, asked)
		}
	})
}

// TestTheFirstPruningIsAtATimeOfItsOwn checks the default jitter of a service.
func TestTheFirstPruningIsAtATimeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(map[time.Duration]bool)
		for range 8 {
			kept, begun := &prunings{Store: newMemory(t)}, time.Now()
			s := serve(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "walker"})), on(kept),
				func(v *service.Settings) { v.Retention = store.Retention{Keys: time.Hour} })
			time.Sleep(10 * time.Second)
			synctest.Wait()
			s.Close()
			if len(kept.at) != 1 {
				t.Fatalf("it is pruned at %v within ten seconds", kept.at)
			}
			seen[kept.at[0].Sub(begun)] = true
		}
		if len(seen) < 4 {
			t.Errorf("8 services prune after %v", seen)
		}
	})
}
