package service_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// device is a tool that holds something open, and works for as long as the test wants.
type device struct {
	begun, may chan struct{}
	closed     atomic.Bool
}

func (*device) Descriptor() tools.Descriptor { return tools.Descriptor{Description: "for tests"} }

func (d *device) Call(ctx context.Context, _ *tools.Call) (tools.Result, error) {
	d.begun <- struct{}{}
	select {
	case <-d.may:
		return tools.TextResult("done"), nil
	case <-ctx.Done():
		return tools.Result{}, context.Cause(ctx)
	}
}

func (d *device) Close() error {
	d.closed.Store(true)
	return nil
}

func TestAStoredTurnKeepsTheToolsOfItsRevisionOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &device{begun: make(chan struct{}), may: make(chan struct{})}
		exec := turntest.Scripts(map[string][]turntest.Answer{"a": {turntest.Calls("c", "device", "{}"), {Text: "fine"}}})
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "a"}).WithTool("device", d))
		s := serve(t, rt)
		turn := create(t, s, says(session(t, s, "a"), "go"))
		<-d.begun
		if _, err := turntest.WithAgents(exec, spec.Agent{ID: "a"}).Publish(t.Context(), rt); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d.closed.Load() {
			t.Error("the tool is closed while a turn calls it")
		}
		close(d.may)
		if end := ended(t, s, turn.ID); end.Status != store.Succeeded {
			t.Errorf("the turn is %s: %+v", end.Status, end.Outcome)
		}
		synctest.Wait()
		if !d.closed.Load() {
			t.Error("the tool stays open")
		}
	})
}
