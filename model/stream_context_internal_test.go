package model

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestTheContextOfAStreamEndsAsOneOfTheStandardLibraryDoes(t *testing.T) {
	cause := errors.New("cause")
	for name, end := range map[string]func(own, callers context.CancelFunc){
		"is canceled":           func(own, _ context.CancelFunc) { own() },
		"ends with its caller":  func(_, callers context.CancelFunc) { callers() },
		"ends after its caller": func(own, callers context.CancelFunc) { callers(); own() },
		"does not end":          func(_, _ context.CancelFunc) {},
	} {
		for when, ask := range map[string]func(context.Context){
			"asked before": func(ctx context.Context) { ctx.Done() },
			"asked after":  func(context.Context) {},
		} {
			t.Run(name+"/"+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					caller, endCaller := context.WithCancelCause(t.Context())
					defer endCaller(nil)
					want, cancelWant := context.WithCancel(caller)
					defer cancelWant()
					got := &streamContext{Context: caller}
					defer got.cancel()
					ask(got)
					ask(want)
					end(func() { got.cancel(); cancelWant() }, func() { endCaller(cause) })
					if got, want := endOf(got), endOf(want); got != want {
						t.Errorf("the context has %v, one of the standard library %v", got, want)
					}
				})
			})
		}
	}
}

// endOf returns how a context, and what is derived from it, has ended.
func endOf(ctx context.Context) (all [6]any) {
	all[0], all[1] = ctx.Err(), context.Cause(ctx)
	called := make(chan struct{})
	defer context.AfterFunc(ctx, func() { close(called) })()
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	synctest.Wait()
	for i, done := range []<-chan struct{}{ctx.Done(), called} {
		select {
		case <-done:
			all[2+i] = true
		default:
		}
	}
	all[4], all[5] = child.Err(), context.Cause(child)
	return all
}
