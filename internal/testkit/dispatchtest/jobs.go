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
	d := openStarted(t, open, 4, l.handleTurn)
	enqueueNow(t, d)
	turns := turnIDs(100)
	enqueueNow(t, d, turns[:40]...)
	for _, id := range turns[40:] {
		enqueueNow(t, d, id)
	}
	l.waitHandled(t, 1, turns...)
}

func jobsFromManyGoroutinesAreHandled(t *testing.T, open Open) {
	l := newLog()
	d := openStarted(t, open, 4, l.handleTurn)
	turns := turnIDs(200)
	var all sync.WaitGroup
	for part := range slices.Chunk(turns, 25) {
		all.Go(func() {
			for _, id := range part {
				enqueueNow(t, d, id, turns[0])
			}
		})
	}
	all.Wait()
	l.waitHandled(t, 1, turns...)
}

func jobsFromBeforeStartAreHandled(t *testing.T, open Open) {
	d := open(t, 2)
	t.Cleanup(d.Stop)
	turns := turnIDs(20)
	enqueueNow(t, d, turns...)
	l := newLog()
	startDispatcher(t, d, l.handleTurn)
	l.waitHandled(t, 1, turns...)
}

func aBurstIsHandledWhole(t *testing.T, open Open) {
	const size = 10_000
	l := newLog()
	d := openStarted(t, open, 64, l.handleTurn)
	turns := turnIDs(size)
	for part := range slices.Chunk(turns, 500) {
		enqueueNow(t, d, part...)
	}
	l.waitHandled(t, 1, turns...)
}

func noMoreHandlersThanAllowed(t *testing.T, open Open) {
	const allowed = 3
	var running, most atomic.Int64
	begun, goOn := make(chan struct{}), make(chan struct{})
	l := newLog()
	d := openStarted(t, open, allowed, func(_ context.Context, turnID string) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		begun <- struct{}{}
		<-goOn
		running.Add(-1)
		l.noteTurn(turnID)
	})
	turns := turnIDs(30)
	enqueueNow(t, d, turns...)
	for range allowed {
		receiveValue(t, begun, "as many handlers as are allowed")
	}
	for range len(turns) - allowed {
		goOn <- struct{}{}
		receiveValue(t, begun, "a handler when another one returned")
	}
	close(goOn)
	l.waitHandled(t, 1, turns...)
	if got := most.Load(); got != allowed {
		t.Errorf("%d handlers ran at the same time, want %d", got, allowed)
	}
}

func aBlockedHandlerHoldsUpNoOther(t *testing.T, open Open) {
	l := newLog()
	begun, goOn := make(chan struct{}), make(chan struct{})
	d := openStarted(t, open, 2, func(_ context.Context, turnID string) {
		if turnID == "blocked" {
			close(begun)
			<-goOn
		}
		l.noteTurn(turnID)
	})
	defer close(goOn)
	enqueueNow(t, d, "blocked")
	receiveValue(t, begun, "a handler that blocks")
	turns := turnIDs(50)
	enqueueNow(t, d, turns...)
	l.waitHandled(t, 1, turns...)
}

func aTurnQueuedWhileHandledIsHandledAgain(t *testing.T, open Open) {
	l := newLog()
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := openStarted(t, open, 4, func(_ context.Context, turnID string) {
		once.Do(func() {
			close(begun)
			<-goOn
		})
		l.noteTurn(turnID)
	})
	enqueueNow(t, d, "turn")
	receiveValue(t, begun, "the first handler")
	enqueueNow(t, d, "turn")
	enqueueNow(t, d, "turn")
	close(goOn)
	l.waitHandled(t, 2, "turn")
}

func aTurnThatQueuesItselfIsHandledAgain(t *testing.T, open Open) {
	const times = 20
	l := newLog()
	again := make(chan string, times)
	d := openStarted(t, open, 2, func(_ context.Context, turnID string) {
		again <- turnID
		l.noteTurn(turnID)
	})
	enqueueNow(t, d, "turn")
	for n := 1; n < times; n++ {
		// The handler has sent and may be about to return.
		enqueueNow(t, d, receiveValue(t, again, "the turn"))
	}
	l.waitHandled(t, times, "turn")
}

func aDelayedJobWaitsForItsTime(t *testing.T, open Open) {
	l := newLog()
	d := openStarted(t, open, 2, l.handleTurn)
	notBefore := time.Now().Add(300 * time.Millisecond)
	if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: "later", NotBefore: notBefore}, {TurnID: "now"}}); err != nil {
		t.Fatal(err)
	}
	l.waitHandled(t, 1, "now", "later")
	if at := l.handledAt("now")[0]; !at.Before(notBefore) {
		t.Errorf("the job that was due waited for the other one")
	}
	at := l.handledAt("later")[0]
	if at.Before(notBefore) {
		t.Errorf("the delayed job was handled %v too early", notBefore.Sub(at))
	}
	if late := at.Sub(notBefore); late > 5*time.Second {
		t.Errorf("the delayed job was handled %v too late", late)
	}
}

func delayedJobsAreAllHandled(t *testing.T, open Open) {
	l := newLog()
	d := openStarted(t, open, 4, l.handleTurn)
	now := time.Now()
	turns := turnIDs(60)
	due := make(map[string]time.Time)
	for i, id := range turns {
		// Not in order, and some of them in the past.
		due[id] = now.Add(time.Duration((i*37)%60-10) * 5 * time.Millisecond)
		if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: id, NotBefore: due[id]}}); err != nil {
			t.Fatal(err)
		}
	}
	l.waitHandled(t, 1, turns...)
	for _, id := range turns {
		if at := l.handledAt(id)[0]; at.Before(due[id]) {
			t.Errorf("%s was handled %v too early", id, due[id].Sub(at))
		}
	}
}
