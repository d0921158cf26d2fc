package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// readyTimeout is the time limit of a readiness check.
const readyTimeout = 2 * time.Second

// readiness checks whether the server can do its work. Probes need no credential,
// so concurrent ones share one check: they must not be able to overload the store.
type readiness struct {
	look func(ctx context.Context) error

	mu sync.Mutex
	// current is the check in progress, or nil.
	current *readyLook
}

// readyLook is one check. err is its result once done is closed.
type readyLook struct {
	done chan struct{}
	err  error
}

// errBrokenOff is the result of a check that panics.
var errBrokenOff = errors.New("the readiness check panicked")

// check returns why the server cannot do its work, or nil.
func (r *readiness) check(ctx context.Context) error {
	r.mu.Lock()
	l, mine := r.current, false
	if l == nil {
		l, mine = &readyLook{done: make(chan struct{}), err: errBrokenOff}, true
		r.current = l
	}
	r.mu.Unlock()
	if mine {
		r.runCheck(ctx, l)
	}
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// runCheck runs the check for all waiting probes, even if the probe that started it has
// disconnected.
func (r *readiness) runCheck(ctx context.Context, l *readyLook) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	defer func() { // also when it panics
		r.mu.Lock()
		defer r.mu.Unlock()
		r.current = nil
		close(l.done)
	}()
	l.err = r.look(ctx)
}
