package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrCircuitOpen is the cause of the error with which a Breaker rejects a call.
var ErrCircuitOpen = errors.New("the circuit breaker is open")

// The parameters of circuit breakers.
const (
	breakerThreshold = 5
	breakerCooldown  = 30 * time.Second
	// probePatience is the retry delay of a call that is rejected because another call is probing
	// the model.
	probePatience = time.Second
)

// Breaker stops calls to a failing model. Five failed calls in a row open it: calls are rejected
// for 30 s. Then one probing call is let through; it closes the breaker on success, and reopens it
// for 30 s on failure. Only the classes Provider, RateLimited, Overloaded, Timeout,
// StreamInterrupted and EmptyAnswer count as failures; canceled calls and invalid requests count
// neither way.
//
// A breaker belongs to one model and lives as long as the revision; all callers of the model share
// it. It is safe for concurrent use.
type Breaker struct {
	model string

	mu sync.Mutex
	// failures counts consecutive failures while the breaker is closed.
	failures int
	// until is the time when an open breaker lets a probe through; zero while it is closed.
	until   time.Time
	probing bool
	// turns counts how often the breaker opened or closed. An attempt that began
	// before the latest change no longer counts.
	turns int
}

// NewBreaker returns a closed breaker of the model with an id.
func NewBreaker(modelID string) *Breaker { return &Breaker{model: modelID} }

// refusal returns the error with which a call would now be rejected, or nil. A nil breaker rejects
// none.
func (b *Breaker) refusal() *Error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusalLocked()
}

// refusalLocked returns why a call is now rejected, or nil.
func (b *Breaker) refusalLocked() *Error {
	if b.until.IsZero() {
		return nil
	}
	refused := &Error{Class: Provider, Err: ErrCircuitOpen}
	switch left := time.Until(b.until); {
	case left > 0:
		refused.RetryAfter = left
		refused.Message = fmt.Sprintf("model %s failed too often; it is tried again in %s", b.model, roundUp(left))
	case b.probing:
		refused.RetryAfter = probePatience
		refused.Message = fmt.Sprintf("model %s failed too often; it is being tried again", b.model)
	default:
		return nil
	}
	return refused
}

// roundUp rounds a wait up to whole seconds, so that no caller retries too early.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// beginAttempt returns an attempt to call the model, or the error of an open
// breaker. The attempt must be counted. A nil breaker permits every call.
func (b *Breaker) beginAttempt() (attempt, error) {
	if b == nil {
		return attempt{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if refused := b.refusalLocked(); refused != nil {
		return attempt{}, refused
	}
	b.probing = !b.until.IsZero()
	return attempt{breaker: b, turn: b.turns, probe: b.probing}, nil
}

// attempt is one call let through by a breaker. It holds its own outcome, so that an abandoned or
// late attempt is not mistaken for another.
type attempt struct {
	breaker *Breaker
	turn    int
	probe   bool
	outcome outcome
}

// outcome is the result of an attempt.
type outcome uint8

const (
	// saidNothing is an attempt that does not count: it was canceled, or abandoned
	// before the model sent anything.
	saidNothing outcome = iota
	succeeded
	failed
)

// noteEvent records an event or error of the attempt's stream. An abandoned attempt is judged by
// the events so far.
func (a *attempt) noteEvent(ctx context.Context, typ EventType, err error) {
	switch {
	case a.breaker == nil:
	case err == nil && typ <= EventFinish: // the model's own, not a wrapper's
		a.outcome = succeeded
	case err == nil:
	case ctx.Err() == nil && AsError(err).Class.Retryable() && !errors.Is(err, ErrCircuitOpen):
		a.outcome = failed
	default:
		a.outcome = saidNothing
	}
}

// countOutcome counts the attempt.
func (a *attempt) countOutcome() {
	b := a.breaker
	if b == nil {
		return
	}
	a.breaker = nil // an attempt counts once
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.turn != b.turns {
		return
	}
	if a.probe {
		b.probing = false
	}
	switch a.outcome {
	case succeeded:
		b.failures = 0
		if a.probe {
			b.until = time.Time{}
			b.turns++
		}
	case failed:
		b.failures++
		if a.probe || b.failures >= breakerThreshold {
			b.failures, b.until = 0, time.Now().Add(breakerCooldown)
			b.turns++
		}
	default: // it says nothing
	}
}
