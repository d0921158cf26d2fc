package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pace spaces attempts: each wait is longer than the one before, and those of two
// turns are not the same.
type Pace struct{ Next, Most time.Duration }

// Wait waits until the next attempt, and for as long as the peer asks at least.
// The error is that of ctx.
func (p *Pace) Wait(ctx context.Context, least time.Duration) error {
	const spread = 5 // a fifth more or less
	pause := p.Next - p.Next/spread + rand.N(2*p.Next/spread+1)
	p.Next = min(p.Next+p.Next/2, max(p.Most, p.Next))
	timer := time.NewTimer(max(pause, least))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// OutlastsContext reports whether a wait would last longer than the context.
func OutlastsContext(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && wait > time.Until(deadline)
}
