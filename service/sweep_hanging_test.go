package service_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// hangingReap is a store in which the search for dead workers never ends by itself.
// It counts how often workers give a sign of life.
type hangingReap struct {
	store.Store
	beats atomic.Int64
}

func (h *hangingReap) Reap(ctx context.Context, _ time.Time) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

func (h *hangingReap) Heartbeat(context.Context, string, time.Duration, []store.Held) ([]string, error) {
	h.beats.Add(1)
	return nil, nil
}

// TestASearchForDeadWorkersThatHangsHoldsUpNoSignOfLife keeps a turn at work while
// every search for dead workers hangs.
func TestASearchForDeadWorkersThatHangsHoldsUpNoSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 2 * time.Second
		kept := &hangingReap{Store: newMemory(t)}
		s := serve(t, turntest.Build(t, turntest.WithAgents(speaking{words: 100, interval: time.Second}, spec.Agent{ID: "speaker"})), on(kept),
			func(v *service.Settings) { v.Lease = lease })
		create(t, s, says(session(t, s, "speaker"), "speak"))
		time.Sleep(30 * time.Second)
		if n := kept.beats.Load(); n < 8 {
			t.Errorf("the worker gave %d signs of life in 30 s, with a lease of %s", n, lease)
		}
	})
}
