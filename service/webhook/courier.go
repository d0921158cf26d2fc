package webhook

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// webhookInterval is how often webhooks with something to deliver are searched for.
	webhookInterval = time.Second
	// maxJobs limits the webhooks that a process handles concurrently, and maxTenantJobs
	// the share of one tenant; the last claimed batch may exceed it.
	maxJobs       = 512
	maxTenantJobs = 128
	jobBatch      = 32
)

// The reasons for no longer following a turn.
var (
	errIdle     = errors.New("nothing happens in the turn")
	errHandOver = errors.New("the process stops")
	errTaken    = errors.New("the webhook belongs to another worker")
)

// Settings configures a Courier. All fields are required.
type Settings struct {
	Store store.WebhookWork
	// Events returns the events of a turn after a seq, including future ones.
	Events func(ctx context.Context, turnID string, after uint64) iter.Seq2[event.Record, error]
	// Senders deliver to the receivers, by the surface of the webhook.
	Senders map[string]Sender
	// Worker names this process among those that use the store. Lease is how long a webhook stays
	// claimed without a heartbeat.
	Worker string
	Lease  time.Duration
	Clock  func() time.Time
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Courier notifies receivers about turns. Each webhook belongs to one process at a time, by a
// lease, and to a job of one goroutine there: the job follows the turn and delivers one event after
// the other. After a failed delivery the webhook is handed back until it is due again. A receiver
// that hangs blocks only its own job.
type Courier struct {
	settings Settings
	// ctx ends when the courier is closed, which ends the goroutines in tasks.
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	// news are the turns that got a webhook in this process.
	news chan string
	// drained is closed when no more webhooks are claimed.
	drained chan struct{}
	once    sync.Once

	mu   sync.Mutex
	jobs map[webhookID]*job
	// working counts the jobs, and run.
	working sync.WaitGroup
	// beaten is when the leases were last renewed.
	beaten time.Time
}

// webhookID names a webhook.
type webhookID struct{ turn, id string }

// NewCourier returns a courier. It does nothing before Start.
func NewCourier(s Settings) *Courier {
	c := &Courier{settings: s, news: make(chan string, jobBatch), drained: make(chan struct{}), jobs: make(map[webhookID]*job)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Start starts delivering, if there are any senders.
func (c *Courier) Start() {
	if len(c.settings.Senders) == 0 {
		return
	}
	c.beaten = time.Now()
	c.working.Add(1)
	c.tasks.Go(func() { defer c.working.Done(); c.runErrands() })
	c.tasks.Go(c.beatPeriodically)
}

// Close stops everything at once and waits for it. Interrupted deliveries are repeated, by any
// process.
func (c *Courier) Close() {
	c.cancel()
	c.tasks.Wait()
}

// Saved reports that a turn got a webhook. It does not block.
func (c *Courier) Saved(h *store.Webhook) {
	select {
	case c.news <- h.TurnID:
	default: // the next poll finds it
	}
}

// Deleted ends the job for a deleted webhook and waits until nothing is being sent. If ctx ends
// first, it returns the cause.
func (c *Courier) Deleted(ctx context.Context, turnID, id string) error {
	c.mu.Lock()
	e := c.jobs[webhookID{turnID, id}]
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

// Drain stops claiming webhooks, waits for running deliveries, and releases the webhooks. It
// returns the error of ctx if ctx ends first.
func (c *Courier) Drain(ctx context.Context) error {
	c.once.Do(func() { close(c.drained) })
	c.mu.Lock()
	for _, e := range c.jobs {
		e.leave(errHandOver)
	}
	c.mu.Unlock()
	done := make(chan struct{})
	c.tasks.Go(func() { defer close(done); c.working.Wait() })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("webhook deliveries still running: %w", context.Cause(ctx))
	}
}

// runErrands claims webhooks until the courier is drained or closed.
func (c *Courier) runErrands() {
	ticker := time.NewTicker(webhookInterval)
	defer ticker.Stop()
	for {
		turn := ""
		select {
		case turn = <-c.news:
		case <-ticker.C:
		case <-c.drained:
			return
		case <-c.ctx.Done():
			return
		}
		if err := c.claimWebhooks(c.ctx, turn); err != nil {
			c.logError(c.ctx, "claiming webhooks failed", err)
		}
	}
}

// claimWebhooks claims the webhooks of a turn, or of any turn with something to deliver, and starts
// their jobs.
func (c *Courier) claimWebhooks(ctx context.Context, turnID string) error {
	surfaces := slices.Sorted(maps.Keys(c.settings.Senders))
	for {
		free, busy := c.freeSlots()
		if free <= 0 {
			return nil
		}
		limit := min(free, jobBatch)
		claimed, err := c.settings.Store.ClaimWebhooks(ctx, &store.ClaimWebhooks{
			Worker: c.settings.Worker, Lease: c.settings.Lease, Surfaces: surfaces, TurnID: turnID, NotTenants: busy,
			Limit: limit, Now: c.now(),
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

// freeSlots returns how many webhooks can be claimed, and the tenants that already have enough of
// them.
func (c *Courier) freeSlots() (free int, busy []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := make(map[string]int)
	for _, e := range c.jobs {
		count[e.hook.Owner.Tenant]++
	}
	for tenant, n := range count {
		if n >= maxTenantJobs {
			busy = append(busy, tenant)
		}
	}
	return maxJobs - len(c.jobs), busy
}

// setOut starts a job. It ends a job with an older claim on the same webhook.
func (c *Courier) setOut(h *store.Webhook) {
	ctx, stop := context.WithCancelCause(c.ctx)
	following, leave := context.WithCancelCause(ctx)
	e := &job{Courier: c, hook: h, sender: c.settings.Senders[h.Surface], seen: h.Cursor, stop: stop, leave: leave, ended: make(chan struct{})}
	key := webhookID{h.TurnID, h.ID}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.drained:
		leave(errHandOver) // hand over immediately
	default:
	}
	if old := c.jobs[key]; old != nil {
		old.stop(errTaken)
	}
	c.jobs[key] = e
	c.working.Add(1)
	c.tasks.Go(func() {
		defer c.working.Done()
		defer stop(nil)
		defer leave(nil)
		defer close(e.ended)
		defer c.removeJob(key, e)
		e.followTurn(ctx, following)
	})
}

func (c *Courier) removeJob(key webhookID, e *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs[key] == e {
		delete(c.jobs, key)
	}
}

// renewLeases renews the leases of this process's webhooks and ends the jobs that it no longer
// owns. Without confirmed leases another process may own the webhooks, so all jobs end if the store
// does not respond for too long.
func (c *Courier) renewLeases(ctx context.Context) {
	c.mu.Lock()
	held := make([]store.HeldWebhook, 0, len(c.jobs))
	for key, e := range c.jobs {
		held = append(held, store.HeldWebhook{TurnID: key.turn, ID: key.id, Fence: e.hook.Fence})
	}
	c.mu.Unlock()
	began := time.Now()
	if len(held) == 0 {
		c.beaten = began
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.settings.Lease)
	defer cancel()
	lost, err := c.settings.Store.HeartbeatWebhooks(ctx, c.settings.Worker, c.settings.Lease, held)
	switch {
	case err == nil:
		c.beaten = began
	case time.Since(c.beaten) > c.settings.Lease:
		lost = held
		fallthrough
	default:
		c.logError(ctx, "webhook heartbeat failed", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range lost {
		if e := c.jobs[webhookID{h.TurnID, h.ID}]; e != nil && e.hook.Fence == h.Fence {
			e.stop(errTaken)
		}
	}
}

func (c *Courier) beatPeriodically() {
	ticker := time.NewTicker(c.settings.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.renewLeases(c.ctx)
		case <-c.ctx.Done():
			return
		}
	}
}

// now returns the time with the precision of the store.
func (c *Courier) now() time.Time { return c.settings.Clock().UTC().Truncate(time.Microsecond) }

// logError logs an error unless the courier is closing.
func (c *Courier) logError(ctx context.Context, text string, err error, fields ...zap.Field) {
	if ctx.Err() == nil || c.ctx.Err() == nil {
		c.settings.Logger.Error(text, append(fields, zap.Error(err))...)
	}
}
