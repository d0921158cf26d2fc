package model

import (
	"context"
	"sync"
	"sync/atomic"
)

// streamContext is the context of a watched stream: it ends with the caller's context, or when the
// stream is canceled. It behaves like context.WithCancel, but costs nothing until something waits
// for its end. If the caller's context has ended, its cause applies.
type streamContext struct {
	context.Context //nolint:containedctx // that of the caller
	canceled        atomic.Bool
	// watch is notified when the executor reads data; it may be nil.
	watch *watch

	mu sync.Mutex
	// own is created on the first wait for the context's end, and cancelOwn ends it.
	own       context.Context //nolint:containedctx // this one, as others see it
	cancelOwn context.CancelFunc
}

// cancel ends the context. It may be called more than once.
func (c *streamContext) cancel() {
	c.canceled.Store(true)
	c.mu.Lock()
	end := c.cancelOwn
	c.mu.Unlock()
	if end != nil {
		end()
	}
}

// activityKey is the key of the function that ActivityReporter returns.
type activityKey struct{}

// ActivityReporter returns a function that an executor calls for received bytes, even without an
// event, so that the stream does not count as silent. It is nil if the stream is not watched. ctx
// is the context passed to Stream.
func ActivityReporter(ctx context.Context) func() {
	report, _ := ctx.Value(activityKey{}).(func())
	return report
}

// Value returns the value of a key.
func (c *streamContext) Value(key any) any {
	if key == (activityKey{}) && c.watch != nil {
		return c.watch.noteActivity
	}
	return c.Context.Value(key)
}

// Done returns a channel that is closed when the context ends.
func (c *streamContext) Done() <-chan struct{} { return c.ensureOwn().Done() }

// Err returns why the context ended, or nil. Many streams call it before each event.
func (c *streamContext) Err() error {
	if !c.canceled.Load() {
		return c.Context.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own != nil {
		return c.own.Err()
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	return context.Canceled
}

// AfterFunc calls f when the context has ended. Package context uses it for contexts derived from
// this one.
func (c *streamContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.ensureOwn(), f)
}

// ensureOwn returns the context that others wait for.
func (c *streamContext) ensureOwn() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		c.own, c.cancelOwn = context.WithCancel(c.Context)
		if c.canceled.Load() {
			c.cancelOwn()
		}
	}
	return c.own
}
