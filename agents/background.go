package agents

import (
	"context"
	"errors"
	"sync"
)

// errClosed reports that a set was closed.
var errClosed = errors.New("the set of agents is closed")

// background runs the detached turns of agents with custom snapshot stores. The zero value is
// ready to use.
type background struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // it ends with the set
	cancel context.CancelFunc
	closed bool
	tasks  sync.WaitGroup
}

// begin runs a task until close ends its context; false after close.
func (b *background) begin(task func(until context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	if b.ctx == nil {
		b.ctx, b.cancel = context.WithCancel(context.Background())
	}
	until := b.ctx
	b.tasks.Go(func() { task(until) })
	return true
}

// close ends all tasks, and waits for them.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.tasks.Wait()
}
