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
	// webhookIdle is how long a turn is followed without events; later events resume it.
	webhookIdle = 5 * time.Second
	// The limits, in attempts and in time, after which a failing receiver is
	// dropped.
	maxDeliveries   = 40
	webhookPatience = 24 * time.Hour
	// The pauses between attempts double and vary by half.
	firstPause   = time.Second
	longestPause = time.Hour
	// releaseTime is how long handing over a webhook may take when the process stops.
	releaseTime = 2 * time.Second
	// maxLastError limits the error stored with a webhook, in bytes.
	maxLastError = 500
)

// job is the delivery of one webhook by this process.
type job struct {
	*Courier
	hook   *store.Webhook
	sender Sender
	// seen is the seq of the latest event read.
	seen uint64
	// stop ends the job immediately, and leave as soon as nothing is being sent.
	stop, leave context.CancelCauseFunc
	// ended is closed when the job has ended.
	ended chan struct{}
}

// followTurn follows the turn and delivers its events until there are no more, nothing happens for
// a while, or delivery fails.
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
		return nil // saved when the job ends
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

// checkLease checks that the job still owns the webhook: another process may have deleted it or
// saved it again. The error is then errTaken. If the store cannot be read, the event is still
// delivered.
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

// handBack hands the webhook back with the state of the job.
func (j *job) handBack(ctx context.Context, err error) {
	var failed *failure
	switch {
	case err == nil: // nothing more to deliver
		j.hook.State, j.hook.Cursor = store.WebhookDone, j.seen
	case errors.Is(context.Cause(ctx), errTaken), errors.Is(err, errTaken), errors.As(err, new(*store.FencedError)), errors.Is(err, store.ErrNotFound):
		return // it was taken over or deleted
	case errors.As(err, &failed) && ctx.Err() == nil:
		j.noteFailure(failed.cause)
	case errors.As(err, &failed): // the process is stopping: not the receiver's fault
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

// saveProgress stores the receiver's progress.
func (j *job) saveProgress(ctx context.Context, release bool) error {
	h := j.hook
	return j.settings.Store.AdvanceWebhook(ctx, &store.AdvanceWebhook{
		HeldWebhook: store.HeldWebhook{TurnID: h.TurnID, ID: h.ID, Fence: h.Fence},
		State:       h.State, Cursor: h.Cursor, Attempts: h.Attempts, FailingSince: h.FailingSince, LastError: h.LastError, DueAt: h.DueAt,
		Release: release, Now: j.now(),
	})
}
