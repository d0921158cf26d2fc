package model

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/agentruntime/agentruntime/internal/wait"
)

// The numbers of the default retry policy.
const (
	DefaultMaxRetries        = 2
	DefaultMaxStreamRetries  = 2
	DefaultBackoffBase       = 500 * time.Millisecond
	DefaultOverloadedBackoff = 2 * time.Second
	maxBackoff               = 8 * time.Second
	maxRetryAfter            = 60 * time.Second
)

// RetryPolicy limits how often and how fast a model call is retried.
type RetryPolicy struct {
	// MaxRetries is the maximum number of retries of a call after its first attempt.
	MaxRetries int
	// MaxStreamRetries is how many of the retries may follow an answer that broke off after it
	// began.
	MaxStreamRetries int
	// BackoffBase is the longest wait before the first retry; it doubles with each, up to 8 s. The
	// actual wait is random, between 0 and that maximum. 0 retries immediately.
	BackoffBase time.Duration
	// OverloadedBase replaces BackoffBase when the vendor is overloaded.
	OverloadedBase time.Duration
}

// Retrying wraps an executor and retries a call that fails with a temporary error. A vendor's
// Retry-After is honored up to a minute. Canceling the call ends the wait immediately. The error
// after the last attempt is passed on unchanged.
//
// An answer that had begun is resumed where possible, because it was already shown: what its
// consumer has assembled so far remains, and the rest is appended, according to one of the
// RecoveryPlans. An EventRetry announces each retry.
type Retrying struct {
	Executor Executor
	Policy   RetryPolicy
	// Breaker rejects calls while it is open, and counts each call once, regardless of retries; nil
	// for none.
	Breaker *Breaker
}

var _ Executor = (*Retrying)(nil)

// Stream calls the wrapped executor, with retries if necessary.
func (r *Retrying) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		attempt, err := r.Breaker.beginAttempt()
		if err != nil {
			yield(Event{}, err)
			return
		}
		c := &call{ctx: ctx, policy: r.Policy, req: req, yield: yield, attempt: attempt}
		defer c.attempt.countOutcome()
		take := c.acceptEvent
		for again := true; again; {
			c.failure, c.begun, c.first = nil, false, len(c.answer.calls)
			r.Executor.Stream(ctx, c.nextRequest())(take)
			again = c.awaitRetry()
		}
	}
}

// call is one model call with all its attempts.
type call struct {
	ctx     context.Context
	policy  RetryPolicy
	req     *Request
	yield   func(Event, error) bool
	attempt attempt
	// over is set once the consumer has received the end or stopped.
	over bool

	// answer is the part of the answer shown to the consumer so far.
	answer Answer
	// usage is the total usage of failed attempts.
	usage Usage
	waits *waits
	// repeated counts the retries, and resumed the retries that resumed an interrupted answer.
	repeated, resumed int

	// The state of the current attempt: its error, whether its answer began, and the number of its
	// first tool call.
	failure error
	begun   bool
	first   int
}

// acceptEvent handles one event of the current attempt, and reports whether to continue.
func (c *call) acceptEvent(ev Event, err error) bool {
	if c.over || c.failure != nil {
		return false
	}
	if err != nil {
		c.failure = err
		return false
	}
	switch ev.Type {
	case EventToolCallStart, EventToolCallDelta, EventToolCallEnd, EventToolCallCancel:
		ev.Index += c.first
	case EventReset:
		c.first = 0
	case EventFinish:
		ev.Usage = c.totalUsage(ev.Usage)
	default:
	}
	c.begun = c.begun || ev.Type != EventServed
	return c.emitEvent(ev)
}

// emitEvent emits an event to the consumer, and reports whether to continue. An event out of order
// fails the attempt.
func (c *call) emitEvent(ev Event) bool {
	if c.failure = c.answer.Add(&ev); c.failure != nil {
		return false
	}
	c.attempt.noteEvent(c.ctx, ev.Type, nil)
	c.over = !c.yield(ev, nil) || ev.Type == EventFinish
	return !c.over
}

// failCall ends the call with an error.
func (c *call) failCall(err error) {
	c.attempt.noteEvent(c.ctx, 0, err)
	c.over = true
	c.yield(Event{}, err)
}

// totalUsage adds the usage of failed attempts to the usage of the last one.
func (c *call) totalUsage(last *Usage) *Usage {
	if c.usage == (Usage{}) {
		return last
	}
	sum := c.usage
	if last != nil {
		sum.Add(last.Reconciled())
	}
	return &sum
}

// awaitRetry decides whether to retry the call, waits for the next attempt, and reports whether
// there is one.
func (c *call) awaitRetry() bool {
	if c.over {
		return false
	}
	if c.failure == nil {
		c.failure = unfinishedError(c.ctx)
	}
	failure := AsError(c.failure)
	if !c.mayRepeat(failure) {
		c.failCall(c.failure)
		return false
	}
	c.attempt.noteEvent(c.ctx, 0, failure)
	if failure.Usage != nil {
		c.usage.Add(failure.Usage.Reconciled())
	}
	c.repeated++
	if c.begun {
		c.resumed++
	}
	plan := c.planRecovery()
	wait := c.retryDelay(failure, plan)
	retry := &Retry{Attempt: c.repeated, Class: failure.Class, Plan: plan, Wait: wait}
	if !c.emitEvent(Event{Type: EventRetry, Retry: retry}) || !c.carryOut(plan) {
		return false
	}
	if err := sleep(c.ctx, wait); err != nil {
		c.failCall(AsError(err))
		return false
	}
	return true
}

func (c *call) mayRepeat(failure *Error) bool {
	return failure.Class.Retryable() && !errors.Is(failure, ErrCircuitOpen) && c.ctx.Err() == nil &&
		c.repeated < c.policy.MaxRetries && (!c.begun || c.resumed < c.policy.MaxStreamRetries)
}

// stallWait is the wait after a silent stream: the vendor has already had a pause.
const stallWait = 200 * time.Millisecond

// retryDelay returns the wait before the next attempt.
func (c *call) retryDelay(failure *Error, plan RecoveryPlan) time.Duration {
	switch {
	case plan == KeepToolCalls:
		return 0
	case errors.Is(failure, errSilent):
		return stallWait
	}
	if c.waits == nil {
		c.waits = newWaits(c.policy)
	}
	return c.waits.next(failure)
}

// waits are the waits before the retries of one call.
type waits struct {
	plain, overloaded *backoff.ExponentialBackOff
}

func newWaits(p RetryPolicy) *waits {
	return &waits{plain: fullJitter(p.BackoffBase), overloaded: fullJitter(p.OverloadedBase)}
}

// fullJitter returns a back-off whose waits are random between 0 and the current step. The library
// spreads a wait around its middle, so the middle is half a step and the spread reaches both ends.
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
	if d <= 0 || wait.For(ctx, d) != nil {
		return ctx.Err()
	}
	return nil
}
