package model

import (
	"context"
	"iter"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// The numbers of the default retry policy.
const (
	DefaultMaxRetries        = 2
	DefaultBackoffBase       = 500 * time.Millisecond
	DefaultOverloadedBackoff = 2 * time.Second
	maxBackoff               = 8 * time.Second
	maxRetryAfter            = 60 * time.Second
)

// RetryPolicy says how often and how patiently a model call is repeated.
type RetryPolicy struct {
	// MaxRetries is how often a call is repeated after its first attempt.
	MaxRetries int
	// BackoffBase is the longest wait before the first repetition; it doubles
	// with each, up to 8 s. The wait itself is random, from nothing up to it.
	// 0 repeats at once.
	BackoffBase time.Duration
	// OverloadedBase takes the place of BackoffBase when the vendor is
	// overloaded.
	OverloadedBase time.Duration
}

// Retrying wraps an executor so that a call is repeated when it fails with a
// retryable error before its answer begins. A vendor's Retry-After is honoured
// up to a minute. Waiting ends at once when the call is cancelled. The error
// after the last attempt is passed on unchanged.
type Retrying struct {
	Executor Executor
	Policy   RetryPolicy
}

var _ Executor = (*Retrying)(nil)

// Stream asks the wrapped executor, again if need be.
func (r *Retrying) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var waits *waits
		for attempt := 0; ; attempt++ {
			failure, done := r.attempt(ctx, req, attempt < r.Policy.MaxRetries, yield)
			if done {
				return
			}
			if waits == nil {
				waits = newWaits(r.Policy)
			}
			if err := sleep(ctx, waits.next(failure)); err != nil {
				yield(Event{}, AsError(err))
				return
			}
		}
	}
}

// attempt passes one stream on. When it fails before its first event, and the
// failure may pass, and another attempt is allowed, the failure is returned
// instead.
func (r *Retrying) attempt(ctx context.Context, req *Request, again bool, yield func(Event, error) bool) (failure *Error, done bool) {
	begun := false
	for ev, err := range r.Executor.Stream(ctx, req) {
		if err != nil && !begun && again && ctx.Err() == nil {
			if e := AsError(err); e.Class.Retryable() {
				return e, false
			}
		}
		begun = true
		if !yield(ev, err) || err != nil {
			return nil, true
		}
	}
	return nil, true
}

// waits is how long to wait before each repetition of one call.
type waits struct {
	plain, overloaded *backoff.ExponentialBackOff
}

func newWaits(p RetryPolicy) *waits {
	return &waits{plain: fullJitter(p.BackoffBase), overloaded: fullJitter(p.OverloadedBase)}
}

// fullJitter returns a back-off whose waits lie anywhere between nothing and
// the current step. The library spreads a wait around its middle, so the
// middle is half a step and the spread reaches both ends.
func fullJitter(base time.Duration) *backoff.ExponentialBackOff {
	const half = 2
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(min(base, maxBackoff)/half),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(1),
		backoff.WithMaxInterval(maxBackoff/half),
		backoff.WithMaxElapsedTime(0),
	)
}

func (w *waits) next(e *Error) time.Duration {
	plain, overloaded := w.plain.NextBackOff(), w.overloaded.NextBackOff()
	wait := plain
	if e.Class == Overloaded {
		wait = overloaded
	}
	return max(wait, min(e.RetryAfter, maxRetryAfter))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
