package local

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// TestACallContextEndsAsOneOfTheStandardLibrary ends a call's context in every possible way, and
// inspects it and derived contexts before and after.
func TestACallContextEndsAsOneOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit time.Duration
		end   func(c *callContext, endStep context.CancelFunc)
		want  error
	}{
		"its time is up":   {time.Minute, func(*callContext, context.CancelFunc) { time.Sleep(time.Minute) }, context.DeadlineExceeded},
		"the step ends":    {time.Minute, func(_ *callContext, endStep context.CancelFunc) { endStep() }, context.Canceled},
		"it is canceled":   {tools.NoTimeout, func(c *callContext, _ context.CancelFunc) { c.cancel() }, context.Canceled},
		"the call is over": {tools.NoTimeout, func(c *callContext, _ context.CancelFunc) { c.finish(context.Canceled) }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				step, endStep := context.WithCancel(t.Context())
				defer endStep()
				h := &callHost{batch: new(batch), entry: new(toolset.Entry)}
				h.batch.cond.L = &h.batch.mu
				h.life.host = h
				begun := time.Now()
				h.life.beginCall(step, begun, tt.limit)
				deadline, limited := h.life.Deadline()
				if limited != (tt.limit != tools.NoTimeout) || limited && !deadline.Equal(begun.Add(tt.limit)) {
					t.Errorf("the deadline is %v, %v", deadline, limited)
				}
				early, stop := context.WithCancel(&h.life)
				defer stop()
				kept, never := make(chan struct{}), context.AfterFunc(&h.life, func() { t.Error("what was stopped is called") })
				context.AfterFunc(&h.life, func() { close(kept) })
				if !never() || h.life.Err() != nil || early.Err() != nil {
					t.Fatalf("before its end: %v, %v", h.life.Err(), early.Err())
				}
				tt.end(&h.life, endStep)
				<-h.life.Done()
				<-early.Done()
				<-kept
				late, stopLate := context.WithCancel(&h.life)
				defer stopLate()
				<-late.Done()
				for _, ctx := range []context.Context{&h.life, early, late} {
					if !errors.Is(ctx.Err(), tt.want) {
						t.Errorf("it ended with %v", ctx.Err())
					}
				}
				time.Sleep(time.Hour) // until nothing more can happen
			})
		})
	}
}
