package local

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/tools"
)

// callContext is the context of a tool call. It ends with the step's context, at the call's
// timeout, or when the call ends. It replaces a timeout and an AfterFunc of the standard library
// with fewer allocations: every tool call needs one, and most tools never use it.
type callContext struct {
	context.Context //nolint:containedctx // that of the step

	host *callHost
	// deadline is when the call's time is up; zero if it has no limit or the step ends earlier.
	deadline time.Time

	mu sync.Mutex
	// done is created on demand.
	done chan struct{}
	err  error
	// funcs are called when the context ends.
	funcs []*func()
	timer *time.Timer
	// detach stops listening to the end of the step.
	detach func() bool
}

// beginCall starts the context at begun, within a step's context.
func (c *callContext) beginCall(step context.Context, begun time.Time, limit time.Duration) {
	c.Context = step
	c.mu.Lock() // the context may end before it has begun
	defer c.mu.Unlock()
	c.detach = context.AfterFunc(step, c.endWithStep)
	if limit == tools.NoTimeout {
		return
	}
	if end, ok := step.Deadline(); ok && end.Before(begun.Add(limit)) {
		return
	}
	c.deadline = begun.Add(limit)
	c.timer = time.AfterFunc(limit, c.expire)
}

func (c *callContext) endWithStep() { c.end(c.Context.Err()) }

func (c *callContext) expire() { c.end(context.DeadlineExceeded) }

// cancel ends the context of a call that is still running.
func (c *callContext) cancel() { c.end(context.Canceled) }

// end ends the context and starts the call's grace period.
func (c *callContext) end(err error) {
	if c.finish(err) {
		c.host.beginPatience()
	}
}

// finish ends the context, and returns false if it had already ended.
func (c *callContext) finish(err error) bool {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return false
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	funcs := c.funcs
	c.funcs = nil
	if c.timer != nil {
		c.timer.Stop()
	}
	c.detach()
	c.mu.Unlock()
	for _, f := range funcs {
		(*f)()
	}
	return true
}

// Deadline returns when the call's time is up.
func (c *callContext) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.Context.Deadline()
	}
	return c.deadline, true
}

// Done returns a channel that is closed when the context ends.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err returns the reason for the context's end, or nil.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc calls a function when the context ends, unless the returned function is called first.
// Package context uses it for contexts derived from this one, whose functions only cancel; they are
// called before end returns.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	entry := &f
	c.funcs = append(c.funcs, entry)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.funcs, entry)
		if i < 0 {
			return false
		}
		c.funcs = slices.Delete(c.funcs, i, i+1)
		return true
	}
}
