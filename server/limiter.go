package server

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// RateError says that a credential asks for more than it may.
type RateError struct {
	// RetryAfter is when to try again, from now on.
	RetryAfter time.Duration
	// Open says that too many of its requests are open at the same time, streams
	// among them. Otherwise they came too fast.
	Open bool
}

// Error says which of the two it is.
func (e *RateError) Error() string {
	if e.Open {
		return "too many requests and streams are open at the same time; try again when one has ended"
	}
	return "too many requests; try again later"
}

// limiter counts what each credential asks for.
type limiter struct {
	rate  Rate
	clock func() time.Time

	mu   sync.Mutex
	keys map[string]*allowance
	// room is how many there may be before it is looked for some to forget.
	room int
}

// maxIdle is from how many credentials on those that asked for nothing lately are
// forgotten: whoever issues tokens decides how many there are.
const maxIdle = 10_000

// allowance is what is left to one credential.
type allowance struct {
	bucket *rate.Limiter
	open   int
}

func newLimiter(r Rate, clock func() time.Time) *limiter {
	return &limiter{rate: r, clock: clock, keys: map[string]*allowance{}, room: maxIdle}
}

// beginRequest begins a request of a credential, which leave ends. The error is a
// *RateError.
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
		return nil, &RateError{RetryAfter: time.Second, Open: true} // nobody knows when one ends
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

// forgetIdle drops the allowances that are as good as new, when there are many. It looks
// again when there are twice as many as are left then, so that a new one costs the
// same however many there are.
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
