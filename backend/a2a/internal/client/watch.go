package client

import (
	"context"
	"errors"
	"time"
)

// watch ends a request if no data arrives for some time.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
}

// newWatch returns a watch and the context that it cancels. The caller must stop it.
func newWatch(parent context.Context, idle time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(parent)
	return ctx, &watch{ctx: ctx, cancel: cancel, idle: idle}
}

// start starts or restarts the timer.
func (w *watch) start() {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.idle, func() { w.cancel(&IdleError{After: w.idle}) })
		return
	}
	w.timer.Reset(w.idle)
}

// stop ends the watch, and the request with it.
func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}

// explainError returns why a request failed: an *IdleError if no data arrived.
func (w *watch) explainError(err error) error {
	if idle, ok := errors.AsType[*IdleError](context.Cause(w.ctx)); ok {
		return idle
	}
	return err
}
