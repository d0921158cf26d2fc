package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/store"
	"github.com/cenkalti/backoff/v4"
	"go.uber.org/zap"
)

const (
	// webhookIdle is how long a turn is followed in which nothing happens; it is
	// followed again when something does.
	webhookIdle = 5 * time.Second
	// The limits, in attempts and in time, after which a failing receiver is
	// dropped.
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

// errand is a webhook that this process works on.
type errand struct {
	*Courier
	hook   *store.Webhook
	sender Sender
	// seen is the seq of the latest event that was read.
	seen uint64
	// stop ends the errand at once, and leave as soon as nothing is being sent.
	stop, leave context.CancelCauseFunc
	// ended is closed when the errand has ended.
	ended chan struct{}
}

// followTurn follows the turn and tells the receiver of its events, until there are no
// more, nothing happens for a while, or it fails.
func (e *errand) followTurn(ctx, following context.Context) {
	idle := time.AfterFunc(webhookIdle, func() { e.leave(errIdle) })
	defer idle.Stop()
	var err error
	for record, problem := range e.settings.Events(following, e.hook.TurnID, e.hook.Cursor) {
		if err = problem; err != nil {
			break
		}
		idle.Stop()
		if err = e.notifyReceiver(ctx, &record); err != nil || record.Terminal() {
			break
		}
		idle.Reset(webhookIdle)
	}
	if err != nil && !errors.As(err, new(*failure)) && following.Err() != nil {
		err = context.Cause(following)
	}
	e.handBack(ctx, err)
}

// failure is a failed delivery.
type failure struct{ cause error }

// Error returns the text of the cause.
func (f *failure) Error() string { return f.cause.Error() }

// notifyReceiver delivers an event, if the receiver wants it, and records that in
// the store. It returns a *failure if the delivery failed.
func (e *errand) notifyReceiver(ctx context.Context, record *event.Record) error {
	told, err := e.sendRecord(ctx, record)
	if errors.Is(err, errTaken) {
		return err
	}
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
	return e.saveProgress(ctx, false)
}

// sendRecord calls the sender, which may panic.
func (e *errand) sendRecord(ctx context.Context, record *event.Record) (told bool, err error) {
	defer panics.Recover(&err)
	if !e.sender.Tells(record) {
		return false, nil
	}
	if err := e.checkLease(ctx); err != nil {
		return false, err
	}
	h := *e.hook // the sender's own
	return true, e.sender.Send(ctx, &Delivery{ID: deliveryID(&h, record), Hook: &h, Record: record, Attempt: h.Attempts + 1})
}

// checkLease checks that the webhook is this errand's: it may have been deleted, or saved
// anew, by another process. The error is errTaken then. A store that cannot tell does
// not keep a receiver from being told.
func (e *errand) checkLease(ctx context.Context) error {
	kept, err := e.settings.Store.Webhook(ctx, store.Everything, e.hook.TurnID, e.hook.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && kept.Fence != e.hook.Fence || errors.Is(context.Cause(ctx), errTaken) {
		return errTaken
	}
	return nil
}

// deliveryID returns what a receiver knows an event by. It is the same in each
// attempt and process, and tells nothing.
func deliveryID(h *store.Webhook, record *event.Record) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", h.TurnID, h.ID, record.Seq))
	return hex.EncodeToString(sum[:16])
}

// handBack hands the webhook back as the errand leaves it.
func (e *errand) handBack(ctx context.Context, err error) {
	var failed *failure
	switch {
	case err == nil: // there is nothing more to tell
		e.hook.State, e.hook.Cursor = store.WebhookDone, e.seen
	case errors.Is(context.Cause(ctx), errTaken), errors.Is(err, errTaken), errors.As(err, new(*store.FencedError)), errors.Is(err, store.ErrNotFound):
		return // it is somebody else's, or gone
	case errors.As(err, &failed) && ctx.Err() == nil:
		e.noteFailure(failed.cause)
	case errors.As(err, &failed): // the process stops: that is not the receiver's fault
	case errors.Is(err, errIdle), errors.Is(err, errHandOver), ctx.Err() != nil:
		e.hook.Cursor = e.seen
	default:
		e.logError(ctx, "reading events for webhook failed", err, e.logFields()...)
		e.hook.DueAt = e.now().Add(firstPause)
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
	}
	if err := e.saveProgress(ctx, true); err != nil && !errors.As(err, new(*store.FencedError)) {
		e.logError(ctx, "releasing webhook failed; its lease will expire", err, e.logFields()...)
	}
}

// noteFailure records a failed delivery, and the time of the next attempt or the
// end of all attempts.
func (e *errand) noteFailure(cause error) {
	h, now := e.hook, e.now()
	h.Attempts++
	if h.FailingSince.IsZero() {
		h.FailingSince = now
	}
	h.LastError = clip.Head(strings.ToValidUTF8(cause.Error(), ""), maxLastError)
	var why DeliveryError
	if said := new(DeliveryError); errors.As(cause, &said) {
		why = *said
	}
	if why.Final || h.Attempts >= maxDeliveries || now.Sub(h.FailingSince) >= webhookPatience {
		h.State = store.WebhookDead
		e.settings.Logger.Warn("webhook dropped, retries exhausted", append(e.logFields(), zap.Int("attempts", h.Attempts), zap.Error(cause))...)
		return
	}
	h.DueAt = now.Add(max(retryDelay(h.Attempts), min(why.RetryAfter, longestPause)))
	e.settings.Logger.Debug("webhook delivery failed", append(e.logFields(), zap.Int("attempts", h.Attempts), zap.Error(cause))...)
}

func (e *errand) logFields() []zap.Field {
	return []zap.Field{zap.String("turn_id", e.hook.TurnID), zap.String("webhook_id", e.hook.ID), zap.String("surface", e.hook.Surface)}
}

// retryDelay returns how long to wait after a number of failed attempts.
func retryDelay(attempts int) time.Duration {
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

// saveProgress writes to the store how far the receiver is.
func (e *errand) saveProgress(ctx context.Context, release bool) error {
	h := e.hook
	return e.settings.Store.AdvanceWebhook(ctx, &store.AdvanceWebhook{
		HeldWebhook: store.HeldWebhook{TurnID: h.TurnID, ID: h.ID, Fence: h.Fence},
		State:       h.State, Cursor: h.Cursor, Attempts: h.Attempts, FailingSince: h.FailingSince, LastError: h.LastError, DueAt: h.DueAt,
		Release: release, Now: e.now(),
	})
}
