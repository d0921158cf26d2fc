package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// readyTimeout bounds how long it is looked whether the server can do its work.
const readyTimeout = 2 * time.Second

// readiness looks whether the server can do its work. Whoever asks needs no
// credential, so that all who ask at the same time share one look: many of them
// must not keep the store busy.
type readiness struct {
	look func(ctx context.Context) error

	mu sync.Mutex
	// current is the look under way; nil when there is none.
	current *readyLook
}

// readyLook is one look, and what came of it once done is closed.
type readyLook struct {
	done chan struct{}
	err  error
}

// errBrokenOff is what comes of a look that panics.
var errBrokenOff = errors.New("the look was broken off")

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

// runCheck looks, for all who wait, also when the one who began to is gone.
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
