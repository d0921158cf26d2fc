package client

import (
	"context"
	"errors"
	"time"
)

// watch ends a request when nothing comes for a time.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
}

// newWatch returns a watch and the context that it ends. It must be stopped.
func newWatch(parent context.Context, idle time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(parent)
	return ctx, &watch{ctx: ctx, cancel: cancel, idle: idle}
}

// start counts the time from now.
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

// explainError returns why a request failed: that nothing came, if so.
func (w *watch) explainError(err error) error {
	if idle, ok := errors.AsType[*IdleError](context.Cause(w.ctx)); ok {
		return idle
	}
	return err
}
