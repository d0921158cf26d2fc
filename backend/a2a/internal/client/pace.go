package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/agentruntime/agentruntime/internal/wait"
)

// Pace spaces attempts with growing, jittered waits.
type Pace struct{ Next, Most time.Duration }

// Wait waits until the next attempt, but at least as long as the peer requested. It returns the
// error of ctx.
func (p *Pace) Wait(ctx context.Context, least time.Duration) error {
	const spread = 5 // plus or minus 20 %
	pause := p.Next - p.Next/spread + rand.N(2*p.Next/spread+1)
	p.Next = min(p.Next+p.Next/2, max(p.Most, p.Next))
	if wait.For(ctx, max(pause, least)) != nil {
		return ctx.Err()
	}
	return nil
}

// OutlastsContext reports whether a wait would last longer than the context.
func OutlastsContext(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && wait > time.Until(deadline)
}
