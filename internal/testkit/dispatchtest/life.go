package dispatchtest

import (
	"context"
	"testing"
	"time"
)

func theContextOfStartEndsNoHandler(t *testing.T, open Open) {
	d := open(t, 2)
	t.Cleanup(d.Stop)
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	seen := make(chan error, 1)
	err := d.Start(ctx, func(ctx context.Context, _ string) {
		if ctx.Value(key{}) != "value" {
			t.Error("the handler's context does not carry the values of that of Start")
		}
		seen <- ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	enqueueNow(t, d, "turn")
	if err := receiveValue(t, seen, "a handler after the end of the context of Start"); err != nil {
		t.Errorf("the handler's context has ended: %v", err)
	}
}

func drainWaitsAndTakesNothingNew(t *testing.T, open Open) {
	l := newLog()
	begun, goOn := make(chan struct{}), make(chan struct{})
	d := openStarted(t, open, 2, func(ctx context.Context, turnID string) {
		if turnID == "blocked" {
			close(begun)
			<-goOn
			if err := ctx.Err(); err != nil {
				t.Errorf("draining ended the handler's context: %v", err)
			}
		}
		l.noteTurn(turnID)
	})
	enqueueNow(t, d, "blocked")
	receiveValue(t, begun, "a handler that blocks")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Drain(ended); err == nil {
		t.Error("Drain did not wait for the handler")
	}
	enqueueNow(t, d, "new")
	drained := make(chan error, 1)
	go func() { drained <- d.Drain(context.WithoutCancel(t.Context())) }()
	close(goOn)
	if err := receiveValue(t, drained, "the end of Drain"); err != nil {
		t.Errorf("drain: %v", err)
	}
	if len(l.handledAt("blocked")) != 1 {
		t.Error("Drain returned before the handler")
	}
	if len(l.handledAt("new")) != 0 {
		t.Error("a job was handled that was queued after Drain")
	}
}

func drainOfNothingReturns(t *testing.T, open Open) {
	t.Run("Started", func(t *testing.T) {
		d := openStarted(t, open, 2, newLog().handleTurn)
		if err := d.Drain(t.Context()); err != nil {
			t.Errorf("drain: %v", err)
		}
	})
	t.Run("NotStarted", func(t *testing.T) {
		d := open(t, 2)
		t.Cleanup(d.Stop)
		if err := d.Drain(t.Context()); err != nil {
			t.Errorf("drain: %v", err)
		}
	})
}

// openBlocked opens a dispatcher whose handlers block until their context ends, waits until n have
// begun, and returns a channel that receives a value for each returned handler.
func openBlocked(t *testing.T, open Open, n int) (stop func(), drain func(context.Context) error, returned chan string) {
	t.Helper()
	begun := make(chan string, n)
	returned = make(chan string, n)
	d := openStarted(t, open, n, func(ctx context.Context, turnID string) {
		begun <- turnID
		<-ctx.Done()
		returned <- turnID
	})
	enqueueNow(t, d, turnIDs(n)...)
	for range n {
		receiveValue(t, begun, "a handler that blocks")
	}
	return d.Stop, d.Drain, returned
}

func stopEndsTheContextsAndWaits(t *testing.T, open Open) {
	stop, _, returned := openBlocked(t, open, 3)
	stop()
	if len(returned) != 3 {
		t.Errorf("%d handlers had returned when Stop did, want 3", len(returned))
	}
}

func stopEndsADrain(t *testing.T, open Open) {
	stop, drain, returned := openBlocked(t, open, 2)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := drain(short); err == nil {
		t.Error("Drain did not wait for the handlers")
	}
	drained := make(chan error, 1)
	go func() { drained <- drain(context.WithoutCancel(t.Context())) }()
	stop()
	if len(returned) != 2 {
		t.Errorf("%d handlers had returned when Stop did, want 2", len(returned))
	}
	if err := receiveValue(t, drained, "the end of Drain"); err != nil {
		t.Errorf("drain: %v", err)
	}
}

func stopIsSafeAtAnyTime(t *testing.T, open Open) {
	t.Run("NotStarted", func(t *testing.T) {
		d := open(t, 2)
		d.Stop()
		d.Stop()
	})
	t.Run("Twice", func(t *testing.T) {
		d := openStarted(t, open, 2, newLog().handleTurn)
		d.Stop()
		d.Stop()
		enqueueNow(t, d, "dropped")
	})
	t.Run("AtOnce", func(t *testing.T) {
		d := openStarted(t, open, 2, newLog().handleTurn)
		enqueueNow(t, d, turnIDs(20)...)
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Stop()
		}()
		d.Stop()
		receiveValue(t, done, "the end of the other Stop")
	})
	t.Run("AfterDrain", func(t *testing.T) {
		d := openStarted(t, open, 2, newLog().handleTurn)
		if err := d.Drain(t.Context()); err != nil {
			t.Errorf("drain: %v", err)
		}
		d.Stop()
	})
}
