package agents

import (
	"cmp"
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// feed holds the chunks of a turn that runs in this process, for one reader. The zero value is
// ready to use.
type feed struct {
	mu     sync.Mutex
	chunks []*wire.Chunk
	err    error
	over   bool
	// changed is closed by the next change. It is nil while no goroutine waits.
	changed chan struct{}
}

// put adds a chunk.
func (f *feed) put(chunk *wire.Chunk) { f.change(func() { f.chunks = append(f.chunks, chunk) }) }

// fail ends the chunks with an error.
func (f *feed) fail(err error) { f.change(func() { f.err = err }) }

// close ends the turn.
func (f *feed) close() { f.change(func() { f.over = true }) }

func (f *feed) change(do func()) {
	f.mu.Lock()
	do()
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
	f.mu.Unlock()
}

// take returns the new chunks and waits for the first one. It returns nothing at the end of the
// turn, and an error after all chunks.
func (f *feed) take(ctx context.Context) (list []*wire.Chunk, err error) {
	ended := f.waitFor(ctx, func() bool {
		if list, f.chunks = f.chunks, nil; len(list) > 0 {
			return true
		}
		err = f.err
		return f.over || err != nil
	})
	return list, cmp.Or(err, ended)
}

// waitDone waits for the end of the turn.
func (f *feed) waitDone(ctx context.Context) error {
	return f.waitFor(ctx, func() bool { return f.over })
}

// waitFor waits for a condition, which each change may fulfill.
func (f *feed) waitFor(ctx context.Context, holds func() bool) error {
	for {
		f.mu.Lock()
		if holds() {
			f.mu.Unlock()
			return nil
		}
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
