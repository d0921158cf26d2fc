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

// job is a webhook that this process works on.
type job struct {
	*Courier
	hook   *store.Webhook
	sender Sender
	// seen is the seq of the latest event that was read.
	seen uint64
	// stop ends the job at once, and leave as soon as nothing is being sent.
	stop, leave context.CancelCauseFunc
	// ended is closed when the job has ended.
	ended chan struct{}
}

// followTurn follows the turn and tells the receiver of its events, until there are no
// more, nothing happens for a while, or it fails.
func (j *job) followTurn(ctx, following context.Context) {
	idle := time.AfterFunc(webhookIdle, func() { j.leave(errIdle) })
	defer idle.Stop()
	var err error
	for record, problem := range j.settings.Events(following, j.hook.TurnID, j.hook.Cursor) {
		if err = problem; err != nil {
			break
		}
		idle.Stop()
		if err = j.notifyReceiver(ctx, &record); err != nil || record.Terminal() {
			break
		}
		idle.Reset(webhookIdle)
	}
	if err != nil && !errors.As(err, new(*failure)) && following.Err() != nil {
		err = context.Cause(following)
	}
	j.handBack(ctx, err)
}

// failure is a failed delivery.
type failure struct{ cause error }

// Error returns the text of the cause.
func (f *failure) Error() string { return f.cause.Error() }

// notifyReceiver delivers an event, if the receiver wants it, and records that in
// the store. It returns a *failure if the delivery failed.
func (j *job) notifyReceiver(ctx context.Context, record *event.Record) error {
	told, err := j.sendRecord(ctx, record)
	if errors.Is(err, errTaken) {
		return err
	}
	if err != nil {
		return &failure{err}
	}
	j.seen = record.Seq
	if !told {
		return nil
	}
	j.hook.Cursor, j.hook.Attempts, j.hook.FailingSince, j.hook.LastError = record.Seq, 0, time.Time{}, ""
	if record.Terminal() {
		return nil // the end of the job notes it
	}
	return j.saveProgress(ctx, false)
}

// sendRecord calls the sender, which may panic.
func (j *job) sendRecord(ctx context.Context, record *event.Record) (told bool, err error) {
	defer panics.Recover(&err)
	if !j.sender.Tells(record) {
		return false, nil
	}
	if err := j.checkLease(ctx); err != nil {
		return false, err
	}
	h := *j.hook // the sender's own
	return true, j.sender.Send(ctx, &Delivery{ID: deliveryID(&h, record), Hook: &h, Record: record, Attempt: h.Attempts + 1})
}

// checkLease checks that the webhook is this job's: it may have been deleted, or saved
// anew, by another process. The error is errTaken then. A store that cannot tell does
// not keep a receiver from being told.
func (j *job) checkLease(ctx context.Context) error {
	kept, err := j.settings.Store.Webhook(ctx, store.Everything, j.hook.TurnID, j.hook.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && kept.Fence != j.hook.Fence || errors.Is(context.Cause(ctx), errTaken) {
		return errTaken
	}
	return nil
}

// deliveryID returns the receiver's id of an event. It is opaque, and the same for all attempts
// and processes.
func deliveryID(h *store.Webhook, record *event.Record) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", h.TurnID, h.ID, record.Seq))
	return hex.EncodeToString(sum[:16])
}

// handBack hands the webhook back as the job leaves it.
func (j *job) handBack(ctx context.Context, err error) {
	var failed *failure
	switch {
	case err == nil: // there is nothing more to tell
		j.hook.State, j.hook.Cursor = store.WebhookDone, j.seen
	case errors.Is(context.Cause(ctx), errTaken), errors.Is(err, errTaken), errors.As(err, new(*store.FencedError)), errors.Is(err, store.ErrNotFound):
		return // it is somebody else's, or gone
	case errors.As(err, &failed) && ctx.Err() == nil:
		j.noteFailure(failed.cause)
	case errors.As(err, &failed): // the process stops: that is not the receiver's fault
	case errors.Is(err, errIdle), errors.Is(err, errHandOver), ctx.Err() != nil:
		j.hook.Cursor = j.seen
	default:
		j.logError(ctx, "reading events for webhook failed", err, j.logFields()...)
		j.hook.DueAt = j.now().Add(firstPause)
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
	}
	if err := j.saveProgress(ctx, true); err != nil && !errors.As(err, new(*store.FencedError)) {
		j.logError(ctx, "releasing webhook failed; its lease will expire", err, j.logFields()...)
	}
}

// noteFailure records a failed delivery, and the time of the next attempt or the
// end of all attempts.
func (j *job) noteFailure(cause error) {
	h, now := j.hook, j.now()
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
		j.settings.Logger.Warn("webhook dropped, retries exhausted", append(j.logFields(), zap.Int("attempts", h.Attempts), zap.Error(cause))...)
		return
	}
	h.DueAt = now.Add(max(retryDelay(h.Attempts), min(why.RetryAfter, longestPause)))
	j.settings.Logger.Debug("webhook delivery failed", append(j.logFields(), zap.Int("attempts", h.Attempts), zap.Error(cause))...)
}

func (j *job) logFields() []zap.Field {
	return []zap.Field{zap.String("turn_id", j.hook.TurnID), zap.String("webhook_id", j.hook.ID), zap.String("surface", j.hook.Surface)}
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
func (j *job) saveProgress(ctx context.Context, release bool) error {
	h := j.hook
	return j.settings.Store.AdvanceWebhook(ctx, &store.AdvanceWebhook{
		HeldWebhook: store.HeldWebhook{TurnID: h.TurnID, ID: h.ID, Fence: h.Fence},
		State:       h.State, Cursor: h.Cursor, Attempts: h.Attempts, FailingSince: h.FailingSince, LastError: h.LastError, DueAt: h.DueAt,
		Release: release, Now: j.now(),
	})
}
