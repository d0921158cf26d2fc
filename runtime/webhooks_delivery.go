package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/cenkalti/backoff/v4"
	"go.uber.org/zap"
)

const (
	// webhookInterval is how often webhooks are looked for of which there is
	// something to tell.
	webhookInterval = time.Second
	// webhookIdle is how long a turn is followed in which nothing happens; it is
	// followed again when something does.
	webhookIdle = 5 * time.Second
	// maxErrands is how many webhooks a process works on at the same time, and
	// maxTenantErrands how many of those are one tenant's, but for the last batch
	// that was claimed.
	maxErrands       = 512
	maxTenantErrands = 128
	errandBatch      = 32
	// A receiver that takes nothing in is given up after so many attempts, or so
	// much time.
	maxDeliveries   = 40
	webhookPatience = 24 * time.Hour
	// The pauses between attempts: they double, and vary by half.
	firstPause   = time.Second
	longestPause = time.Hour
	// releaseTime is how long it may take to hand a webhook on when the process
	// stops.
	releaseTime = 2 * time.Second
	// maxLastError bounds the error that is kept with a webhook, in bytes.
	maxLastError = 500
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

// errand is a webhook that this process works on.
type errand struct {
	*courier
	hook   *store.Webhook
	sender WebhookSender
	// seen is the seq of the latest event that was read.
	seen uint64
	// stop ends the errand at once, and leave as soon as nothing is being sent.
	stop, leave context.CancelCauseFunc
}

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
	e := &errand{courier: c, hook: h, sender: c.service.Webhooks[h.Surface], seen: h.Cursor, stop: stop, leave: leave}
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

// run follows the turn and tells the receiver of its events, until there are no
// more, nothing happens for a while, or it fails.
func (e *errand) run(ctx, following context.Context) {
	idle := time.AfterFunc(webhookIdle, func() { e.leave(errIdle) })
	defer idle.Stop()
	var err error
	for record, problem := range e.service.Events(following, Operator(), e.hook.TurnID, e.hook.Cursor) {
		if err = problem; err != nil {
			break
		}
		idle.Stop()
		if err = e.tell(ctx, &record); err != nil || record.Terminal() {
			break
		}
		idle.Reset(webhookIdle)
	}
	if err != nil && !errors.As(err, new(*failure)) && following.Err() != nil {
		err = context.Cause(following)
	}
	e.end(ctx, err)
}

// failure says that the receiver was not told.
type failure struct{ cause error }

// Error returns the text of the cause.
func (f *failure) Error() string { return f.cause.Error() }

// tell tells the receiver of an event, if it wants to hear of it, and notes that
// in the store. The error is a *failure if the receiver was not told.
func (e *errand) tell(ctx context.Context, record *event.Record) error {
	told, err := e.send(ctx, record)
	if err != nil {
		return &failure{err}
	}
	e.seen = record.Seq
	if !told {
		return nil
	}
	e.hook.Cursor, e.hook.Attempts, e.hook.FailingSince, e.hook.LastError = record.Seq, 0, time.Time{}, ""
	if record.Terminal() {
		return nil // the end of the errand notes it
	}
	return e.save(ctx, false)
}

// send calls the sender, which may panic.
func (e *errand) send(ctx context.Context, record *event.Record) (told bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = backend.Panicked(v)
		}
	}()
	if !e.sender.Tells(record) {
		return false, nil
	}
	h := *e.hook // the sender's own
	return true, e.sender.Send(ctx, &Delivery{ID: deliveryID(&h, record), Hook: &h, Record: record, Attempt: h.Attempts + 1})
}

// deliveryID returns what a receiver knows an event by. It is the same in each
// attempt and process, and tells nothing.
func deliveryID(h *store.Webhook, record *event.Record) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", h.TurnID, h.ID, record.Seq))
	return hex.EncodeToString(sum[:16])
}

// end hands the webhook back as the errand leaves it.
func (e *errand) end(ctx context.Context, err error) {
	var failed *failure
	switch {
	case err == nil: // there is nothing more to tell
		e.hook.State, e.hook.Cursor = store.WebhookDone, e.seen
	case errors.Is(context.Cause(ctx), errTaken), errors.As(err, new(*store.FencedError)), errors.As(err, new(*NotFoundError)):
		return // it is somebody else's, or gone
	case errors.As(err, &failed) && ctx.Err() == nil:
		e.fail(failed.cause)
	case errors.As(err, &failed): // the process stops: that is not the receiver's fault
	case errors.Is(err, errIdle), errors.Is(err, errHandOver), ctx.Err() != nil:
		e.hook.Cursor = e.seen
	default:
		e.service.complain(ctx, "what happens to a turn cannot be told", err, e.fields()...)
		e.hook.DueAt = e.service.now().Add(firstPause)
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
	}
	if err := e.save(ctx, true); err != nil && !errors.As(err, new(*store.FencedError)) {
		e.service.complain(ctx, "a webhook cannot be handed back; its lease ends by itself", err, e.fields()...)
	}
}

// fail notes that the receiver was not told, and when to try again or that it is
// given up.
func (e *errand) fail(cause error) {
	h, now := e.hook, e.service.now()
	h.Attempts++
	if h.FailingSince.IsZero() {
		h.FailingSince = now
	}
	h.LastError = strings.ToValidUTF8(cause.Error(), "")
	if len(h.LastError) > maxLastError {
		h.LastError = strings.ToValidUTF8(h.LastError[:maxLastError], "")
	}
	var why DeliveryError
	if said := new(DeliveryError); errors.As(cause, &said) {
		why = *said
	}
	if why.Final || h.Attempts >= maxDeliveries || now.Sub(h.FailingSince) >= webhookPatience {
		h.State = store.WebhookDead
		e.service.Logger.Warn("a receiver of notifications is given up", append(e.fields(), zap.Int("attempts", h.Attempts), zap.Error(cause))...)
		return
	}
	h.DueAt = now.Add(max(pause(h.Attempts), min(why.RetryAfter, longestPause)))
	e.service.Logger.Debug("a receiver of notifications was not reached", append(e.fields(), zap.Int("attempts", h.Attempts), zap.Error(cause))...)
}

func (e *errand) fields() []zap.Field {
	return []zap.Field{zap.String("turn_id", e.hook.TurnID), zap.String("webhook_id", e.hook.ID), zap.String("surface", e.hook.Surface)}
}

// pause returns how long to wait after a number of failed attempts.
func pause(attempts int) time.Duration {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstPause), backoff.WithMultiplier(2), backoff.WithRandomizationFactor(0.5),
		backoff.WithMaxInterval(longestPause), backoff.WithMaxElapsedTime(0),
	)
	d := b.NextBackOff()
	for range attempts - 1 {
		d = b.NextBackOff()
	}
	return d
}

// save writes to the store how far the receiver is.
func (e *errand) save(ctx context.Context, release bool) error {
	h := e.hook
	return e.service.Store.AdvanceWebhook(ctx, &store.AdvanceWebhook{
		HeldWebhook: store.HeldWebhook{TurnID: h.TurnID, ID: h.ID, Fence: h.Fence},
		State:       h.State, Cursor: h.Cursor, Attempts: h.Attempts, FailingSince: h.FailingSince, LastError: h.LastError, DueAt: h.DueAt,
		Release: release, Now: e.service.now(),
	})
}
