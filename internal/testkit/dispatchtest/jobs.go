package dispatchtest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

func eachJobIsHandled(t *testing.T, open Open) {
	l := newLog()
	d := started(t, open, 4, l.handle)
	enqueue(t, d)
	turns := ids(100)
	enqueue(t, d, turns[:40]...)
	for _, id := range turns[40:] {
		enqueue(t, d, id)
	}
	l.wait(t, 1, turns...)
}

func jobsFromManyGoroutinesAreHandled(t *testing.T, open Open) {
	l := newLog()
	d := started(t, open, 4, l.handle)
	turns := ids(200)
	var all sync.WaitGroup
	for part := range slices.Chunk(turns, 25) {
		all.Go(func() {
			for _, id := range part {
				enqueue(t, d, id, turns[0])
			}
		})
	}
	all.Wait()
	l.wait(t, 1, turns...)
}

func jobsFromBeforeStartAreHandled(t *testing.T, open Open) {
	d := open(t, 2)
	t.Cleanup(d.Stop)
	turns := ids(20)
	enqueue(t, d, turns...)
	l := newLog()
	start(t, d, l.handle)
	l.wait(t, 1, turns...)
}

func aBurstIsHandledWhole(t *testing.T, open Open) {
	const size = 10_000
	l := newLog()
	d := started(t, open, 64, l.handle)
	turns := ids(size)
	for part := range slices.Chunk(turns, 500) {
		enqueue(t, d, part...)
	}
	l.wait(t, 1, turns...)
}

func noMoreHandlersThanAllowed(t *testing.T, open Open) {
	const allowed = 3
	var running, most atomic.Int64
	begun, goOn := make(chan struct{}), make(chan struct{})
	l := newLog()
	d := started(t, open, allowed, func(_ context.Context, turnID string) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		begun <- struct{}{}
		<-goOn
		running.Add(-1)
		l.note(turnID)
	})
	turns := ids(30)
	enqueue(t, d, turns...)
	for range allowed {
		receive(t, begun, "as many handlers as are allowed")
	}
	for range len(turns) - allowed {
		goOn <- struct{}{}
		receive(t, begun, "a handler when another one returned")
	}
	close(goOn)
	l.wait(t, 1, turns...)
	if got := most.Load(); got != allowed {
		t.Errorf("%d handlers ran at the same time, want %d", got, allowed)
	}
}

func aBlockedHandlerHoldsUpNoOther(t *testing.T, open Open) {
	l := newLog()
	begun, goOn := make(chan struct{}), make(chan struct{})
	d := started(t, open, 2, func(_ context.Context, turnID string) {
		if turnID == "blocked" {
			close(begun)
			<-goOn
		}
		l.note(turnID)
	})
	defer close(goOn)
	enqueue(t, d, "blocked")
	receive(t, begun, "a handler that blocks")
	turns := ids(50)
	enqueue(t, d, turns...)
	l.wait(t, 1, turns...)
}

func aTurnQueuedWhileHandledIsHandledAgain(t *testing.T, open Open) {
	l := newLog()
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := started(t, open, 4, func(_ context.Context, turnID string) {
		once.Do(func() {
			close(begun)
			<-goOn
		})
		l.note(turnID)
	})
	enqueue(t, d, "turn")
	receive(t, begun, "the first handler")
	enqueue(t, d, "turn")
	enqueue(t, d, "turn")
	close(goOn)
	l.wait(t, 2, "turn")
}

func aTurnThatQueuesItselfIsHandledAgain(t *testing.T, open Open) {
	const times = 20
	l := newLog()
	again := make(chan string, times)
	d := started(t, open, 2, func(_ context.Context, turnID string) {
		again <- turnID
		l.note(turnID)
	})
	enqueue(t, d, "turn")
	for n := 1; n < times; n++ {
		// The handler has sent and may be just about to return.
		enqueue(t, d, receive(t, again, "the turn"))
	}
	l.wait(t, times, "turn")
}

func aDelayedJobWaitsForItsTime(t *testing.T, open Open) {
	l := newLog()
	d := started(t, open, 2, l.handle)
	notBefore := time.Now().Add(300 * time.Millisecond)
	if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: "later", NotBefore: notBefore}, {TurnID: "now"}}); err != nil {
		t.Fatal(err)
	}
	l.wait(t, 1, "now", "later")
	if at := l.times("now")[0]; !at.Before(notBefore) {
		t.Errorf("the job that was due waited for the other one")
	}
	at := l.times("later")[0]
	if at.Before(notBefore) {
		t.Errorf("the delayed job was handled %v too early", notBefore.Sub(at))
	}
	if late := at.Sub(notBefore); late > 5*time.Second {
		t.Errorf("the delayed job was handled %v too late", late)
	}
}

func delayedJobsAreAllHandled(t *testing.T, open Open) {
	l := newLog()
	d := started(t, open, 4, l.handle)
	now := time.Now()
	turns := ids(60)
	due := make(map[string]time.Time)
	for i, id := range turns {
		// Not in their order, some of them in the past.
		due[id] = now.Add(time.Duration((i*37)%60-10) * 5 * time.Millisecond)
		if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: id, NotBefore: due[id]}}); err != nil {
			t.Fatal(err)
		}
	}
	l.wait(t, 1, turns...)
	for _, id := range turns {
		if at := l.times(id)[0]; at.Before(due[id]) {
			t.Errorf("%s was handled %v too early", id, due[id].Sub(at))
		}
	}
}
