package server

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// RateError means that a credential has exceeded its limits.
type RateError struct {
	// RetryAfter is how long to wait before the next attempt.
	RetryAfter time.Duration
	// Open means that too many requests and streams are open. Otherwise the rate is too high.
	Open bool
}

// Error returns a text for clients.
func (e *RateError) Error() string {
	if e.Open {
		return "too many requests and streams are open at the same time; try again when one has ended"
	}
	return "too many requests; try again later"
}

// limiter enforces the rate and concurrency of each credential.
type limiter struct {
	rate  Rate
	clock func() time.Time

	mu   sync.Mutex
	keys map[string]*allowance
	// room is the number of keys at which idle ones are dropped.
	room int
}

// maxIdle is the number of credentials above which idle ones are dropped: a token issuer can create
// any number of them.
const maxIdle = 10_000

// allowance is the state of one credential.
type allowance struct {
	bucket *rate.Limiter
	open   int
}

func newLimiter(r Rate, clock func() time.Time) *limiter {
	return &limiter{rate: r, clock: clock, keys: map[string]*allowance{}, room: maxIdle}
}

// beginRequest counts a credential's request until leave is called. The error is a *RateError.
func (l *limiter) beginRequest(keyID string) (leave func(), err error) {
	if l.rate.PerSecond <= 0 && l.rate.Concurrency <= 0 {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.keys[keyID]
	if a == nil {
		l.forgetIdle()
		a = &allowance{bucket: rate.NewLimiter(rate.Inf, 0)}
		if l.rate.PerSecond > 0 {
			a.bucket = rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
		}
		l.keys[keyID] = a
	}
	if l.rate.Concurrency > 0 && a.open >= l.rate.Concurrency {
		return nil, &RateError{RetryAfter: time.Second, Open: true} // when one ends is unknown
	}
	now := l.clock()
	if r := a.bucket.ReserveN(now, 1); r.DelayFrom(now) > 0 {
		wait := r.DelayFrom(now)
		r.CancelAt(now)
		return nil, &RateError{RetryAfter: wait}
	}
	a.open++
	return func() { l.endRequest(a) }, nil
}

func (l *limiter) endRequest(a *allowance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.open--
}

// forgetIdle drops allowances without open requests and with a full bucket if there are many. It
// runs again when the number has doubled, so the amortized cost is constant.
func (l *limiter) forgetIdle() {
	if len(l.keys) < l.room {
		return
	}
	now := l.clock()
	for id, a := range l.keys {
		if a.open == 0 && (a.bucket.Limit() == rate.Inf || a.bucket.TokensAt(now) >= float64(a.bucket.Burst())) {
			delete(l.keys, id)
		}
	}
	l.room = max(maxIdle, 2*len(l.keys))
}

// formatSeconds formats a duration in whole seconds, rounded up.
func formatSeconds(d time.Duration) string {
	return fmt.Sprint(int64((d + time.Second - 1) / time.Second))
}

// SetRetryAfter sets Retry-After for an error of Enter.
func SetRetryAfter(w http.ResponseWriter, err error) {
	if limited, ok := errors.AsType[*RateError](err); ok {
		w.Header().Set("Retry-After", formatSeconds(limited.RetryAfter))
	}
}
