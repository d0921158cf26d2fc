package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

const (
	// webhookInterval is how often webhooks are looked for of which there is
	// something to tell.
	webhookInterval = time.Second
	// maxErrands is how many webhooks a process works on at the same time, and
	// maxTenantErrands how many of those are one tenant's, but for the last batch
	// that was claimed.
	maxErrands       = 512
	maxTenantErrands = 128
	errandBatch      = 32
)

// The reasons why a turn is not followed any more.
var (
	errIdle     = errors.New("nothing happens in the turn")
	errHandOver = errors.New("the process stops")
	errTaken    = errors.New("the webhook belongs to another worker")
)

// courier tells receivers what happens to turns. Each webhook is one process's
// at a time, by a lease, and an errand of one goroutine there: it follows the
// turn and tells of one event after the other. What cannot be told is handed
// back until it is due again. A receiver that hangs keeps its own errand waiting
// and nobody else.
type courier struct {
	service *Service
	// news are the turns that were given a webhook here.
	news chan string
	// drained is closed when no more webhooks are taken.
	drained chan struct{}
	once    sync.Once

	mu      sync.Mutex
	errands map[webhookID]*errand
	// working counts the errands, and run.
	working sync.WaitGroup
	// beaten is when the leases were prolonged last.
	beaten time.Time
}

// webhookID names a webhook.
type webhookID struct{ turn, id string }

func newCourier(s *Service) *courier {
	return &courier{service: s, news: make(chan string, errandBatch), drained: make(chan struct{}), errands: make(map[webhookID]*errand)}
}

// start begins to tell, if there is anybody who can.
func (c *courier) start() {
	if len(c.service.Webhooks) == 0 {
		return
	}
	c.beaten = time.Now()
	c.working.Add(1)
	c.service.tasks.Go(func() { defer c.working.Done(); c.run() })
	c.service.every(c.service.Lease/3, c.beat)
}

// saved takes in that a turn was given a webhook. It does not wait.
func (c *courier) saved(h *store.Webhook) {
	select {
	case c.news <- h.TurnID:
	default: // it is found by the next look
	}
}

// deleted ends the errand for a webhook that is there no more, and waits until nothing
// is being sent.
func (c *courier) deleted(ctx context.Context, id webhookID) error {
	c.mu.Lock()
	e := c.errands[id]
	c.mu.Unlock()
	if e == nil {
		return nil
	}
	e.stop(errTaken)
	select {
	case <-e.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drain takes no more webhooks, lets what is being sent arrive, and hands the
// webhooks on. The error is that of ctx when it ends first.
func (c *courier) drain(ctx context.Context) error {
	c.once.Do(func() { close(c.drained) })
	c.mu.Lock()
	for _, e := range c.errands {
		e.leave(errHandOver)
	}
	c.mu.Unlock()
	done := make(chan struct{})
	c.service.tasks.Go(func() { defer close(done); c.working.Wait() })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("webhooks are still being told of: %w", context.Cause(ctx))
	}
}

// run takes webhooks until the service is drained or closed.
func (c *courier) run() {
	ticker := time.NewTicker(webhookInterval)
	defer ticker.Stop()
	for {
		turn := ""
		select {
		case turn = <-c.news:
		case <-ticker.C:
		case <-c.drained:
			return
		case <-c.service.ctx.Done():
			return
		}
		if err := c.take(c.service.ctx, turn); err != nil {
			c.service.complain(c.service.ctx, "webhooks cannot be looked for", err)
		}
	}
}

// take claims the webhooks of a turn, or of any turn if there is something to
// tell, and sets out with them.
func (c *courier) take(ctx context.Context, turnID string) error {
	surfaces := slices.Sorted(maps.Keys(c.service.Webhooks))
	for {
		free, busy := c.room()
		if free <= 0 {
			return nil
		}
		limit := min(free, errandBatch)
		claimed, err := c.service.Store.ClaimWebhooks(ctx, &store.ClaimWebhooks{
			Worker: c.service.Worker, Lease: c.service.Lease, Surfaces: surfaces, TurnID: turnID, NotTenants: busy,
			Limit: limit, Now: c.service.now(),
		})
		if err != nil {
			return err
		}
		for _, h := range claimed {
			c.setOut(h)
		}
		if len(claimed) < limit {
			return nil
		}
	}
}

// room returns how many webhooks can be taken, and the tenants that have enough
// of them.
func (c *courier) room() (free int, busy []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := make(map[string]int)
	for _, e := range c.errands {
		count[e.hook.Owner.Tenant]++
	}
	for tenant, n := range count {
		if n >= maxTenantErrands {
			busy = append(busy, tenant)
		}
	}
	return maxErrands - len(c.errands), busy
}

// setOut begins an errand. One for the same webhook that goes on is of an older
// claim, and ends.
func (c *courier) setOut(h *store.Webhook) {
	ctx, stop := context.WithCancelCause(c.service.ctx)
	following, leave := context.WithCancelCause(ctx)
	e := &errand{courier: c, hook: h, sender: c.service.Webhooks[h.Surface], seen: h.Cursor, stop: stop, leave: leave, ended: make(chan struct{})}
	key := webhookID{h.TurnID, h.ID}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.drained:
		leave(errHandOver) // it is handed on at once
	default:
	}
	if old := c.errands[key]; old != nil {
		old.stop(errTaken)
	}
	c.errands[key] = e
	c.working.Add(1)
	c.service.tasks.Go(func() {
		defer c.working.Done()
		defer stop(nil)
		defer leave(nil)
		defer close(e.ended)
		defer c.done(key, e)
		e.run(ctx, following)
	})
}

func (c *courier) done(key webhookID, e *errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.errands[key] == e {
		delete(c.errands, key)
	}
}

// beat prolongs the leases of the webhooks of this process, and ends the errands
// that are not its own any more. Nobody else may have them as long as it is not
// known that their leases are there, so that too long without an answer of the
// store ends all.
func (c *courier) beat(ctx context.Context) {
	c.mu.Lock()
	held := make([]store.HeldWebhook, 0, len(c.errands))
	for key, e := range c.errands {
		held = append(held, store.HeldWebhook{TurnID: key.turn, ID: key.id, Fence: e.hook.Fence})
	}
	c.mu.Unlock()
	began := time.Now()
	if len(held) == 0 {
		c.beaten = began
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.service.Lease)
	defer cancel()
	lost, err := c.service.Store.HeartbeatWebhooks(ctx, c.service.Worker, c.service.Lease, held)
	switch {
	case err == nil:
		c.beaten = began
	case time.Since(c.beaten) > c.service.Lease:
		lost = held
		fallthrough
	default:
		c.service.complain(ctx, "the leases of webhooks cannot be prolonged", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range lost {
		if e := c.errands[webhookID{h.TurnID, h.ID}]; e != nil && e.hook.Fence == h.Fence {
			e.stop(errTaken)
		}
	}
}
