package credential

import (
	"context"
	"sync"
	"time"
)

const (
	// renewBefore is the maximum time before its expiry at which a value is renewed; short-lived
	// values are renewed after three quarters of their lifetime.
	renewBefore = 5 * time.Minute
	// leastValidity is the minimum remaining validity of a value to be used.
	leastValidity = 10 * time.Second
	// renewPause is the minimum time between two renewals of a valid value.
	renewPause = 10 * time.Second
	// fetchTimeout limits one renewal.
	fetchTimeout = 30 * time.Second
	// dropAfter is the minimum age of a value to be dropped: a server that rejects fresh values
	// rejects the caller.
	dropAfter = time.Minute
)

// Cached holds a value that expires, such as a token, and renews it before expiry. One renewal
// serves all callers and is independent of their contexts. Create it with NewCached. It is safe for
// concurrent use.
type Cached[T any] struct {
	fetch func(context.Context) (T, time.Time, error)

	mu            sync.Mutex
	value         T
	fetched       time.Time
	expiry, renew time.Time
	current       *renewal[T]
}

// renewal is one call of fetch. Its result is set when done is closed.
type renewal[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// NewCached returns a cache for the result of fetch, which includes its expiry time.
func NewCached[T any](fetch func(context.Context) (T, time.Time, error)) *Cached[T] {
	return &Cached[T]{fetch: fetch}
}

// Get returns a valid value. It waits for a renewal only if it has no valid value.
func (c *Cached[T]) Get(ctx context.Context) (T, error) {
	value, waiting := c.look(time.Now())
	if waiting == nil {
		return value, nil
	}
	select {
	case <-waiting.done:
		return waiting.value, waiting.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// look returns the value, or the renewal to wait for. It starts a renewal when due.
func (c *Cached[T]) look(now time.Time) (T, *renewal[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	valid := now.Before(c.expiry.Add(-leastValidity))
	if c.current == nil && (!valid || now.After(c.renew)) {
		c.current = &renewal[T]{done: make(chan struct{})}
		go c.run(c.current)
	}
	if valid {
		return c.value, nil
	}
	var none T
	return none, c.current
}

// run fetches a value. A failure does not discard a valid value.
func (c *Cached[T]) run(r *renewal[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	value, expiry, err := c.fetch(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.current, c.renew = nil, now.Add(renewPause)
	if err == nil {
		c.value, c.fetched, c.expiry = value, now, expiry
		if early := expiry.Add(-min(renewBefore, expiry.Sub(now)/4)); early.After(c.renew) {
			c.renew = early
		}
	}
	r.value, r.err = value, err
	close(r.done)
}

// Expire makes the next Get fetch a value, regardless of the current one's age.
func (c *Cached[T]) Expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expiry = time.Time{}
}

// Drop makes the next Get fetch a value, because a server rejected the current one. A value younger
// than a minute is kept.
func (c *Cached[T]) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.fetched) >= dropAfter {
		c.expiry = time.Time{}
	}
}
