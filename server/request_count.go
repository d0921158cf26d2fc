package server

import (
	"context"
	"sync"
)

// requestCount counts the active requests that http.Server.Shutdown does not wait for.
type requestCount struct {
	mu    sync.Mutex
	count int
	// closed is set when no more requests may begin, and drained is closed when the last one has
	// ended.
	closed  bool
	drained chan struct{}
}

// beginRequest reports whether another request may be answered. Pair it with
// endRequest.
func (c *requestCount) beginRequest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.count++
	return true
}

func (c *requestCount) endRequest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count--; c.count == 0 && c.drained != nil {
		close(c.drained)
		c.drained = nil
	}
}

// drain admits no more requests and waits until all have ended, or ctx ends.
func (c *requestCount) drain(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	if c.count == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.drained == nil {
		c.drained = make(chan struct{})
	}
	drained := c.drained
	c.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
