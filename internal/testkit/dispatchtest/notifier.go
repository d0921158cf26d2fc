package dispatchtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store/dispatch"
)

// OpenBells returns two bells of one store that nobody else uses: one that is
// rung and one that is listened to, as by two processes. They may be the same.
type OpenBells func(t *testing.T) (rung, heard dispatch.Bell)

// RunBells runs all tests of bells.
func RunBells(t *testing.T, open OpenBells) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, rung, heard dispatch.Bell)
	}{
		{"ARingIsHeard", aRingIsHeard},
		{"RingsOfManyTurnsAreAllHeard", ringsOfManyTurnsAreAllHeard},
		{"ARingWhileListenersAreBusyIsHeard", aRingWhileListenersAreBusyIsHeard},
		{"EveryListenerHears", everyListenerHears},
		{"ListenEndsWithItsContext", listenEndsWithItsContext},
		{"RingWaitsForNobody", ringWaitsForNobody},
	} {
		t.Run(test.name, func(t *testing.T) {
			rung, heard := open(t)
			test.run(t, rung, heard)
		})
	}
}

// listenUntilEnd listens until the test ends. It returns when it is certain that rings
// are heard: there is no other way to tell than to ring until one is.
func listenUntilEnd(t *testing.T, rung, heard dispatch.Bell, hear func(turnID string)) {
	t.Helper()
	const probe = "probe"
	ctx, cancel := context.WithCancel(t.Context())
	ended, probed := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		ended <- heard.Listen(ctx, func(turnIDs []string) {
			for _, id := range turnIDs {
				if id != probe {
					hear(id)
					continue
				}
				select {
				case probed <- struct{}{}:
				default:
				}
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := receiveValue(t, ended, "the end of Listen"); err == nil {
			t.Error("Listen does not tell why it ended")
		}
	})
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for late := time.After(patience); ; {
		rung.Ring(probe)
		select {
		case <-probed:
			return
		case err := <-ended:
			ended <- err
			t.Fatalf("listen: %v", err)
		case <-late:
			t.Fatal("no ring is heard")
		case <-again.C:
		}
	}
}

func aRingIsHeard(t *testing.T, rung, heard dispatch.Bell) {
	got := make(chan string, 100)
	listenUntilEnd(t, rung, heard, func(id string) { got <- id })
	for _, id := range turnIDs(20) {
		rung.Ring(id)
		if first := receiveValue(t, got, "the ring for "+id); first != id {
			t.Errorf("heard a ring for %s, want %s", first, id)
		}
	}
}

func ringsOfManyTurnsAreAllHeard(t *testing.T, rung, heard dispatch.Bell) {
	l := newLog()
	listenUntilEnd(t, rung, heard, l.noteTurn)
	turns := turnIDs(2000)
	for _, id := range turns {
		for range 5 {
			rung.Ring(id)
		}
	}
	l.waitHandled(t, 1, turns...)
}

// A ring follows what it announces. One that arrives while the
// listener is told of an earlier ring is about something that it may have missed.
func aRingWhileListenersAreBusyIsHeard(t *testing.T, rung, heard dispatch.Bell) {
	l := newLog()
	busy, goOn := make(chan struct{}), make(chan struct{})
	first := true
	listenUntilEnd(t, rung, heard, func(id string) {
		if first {
			first = false
			close(busy)
			<-goOn
		}
		l.noteTurn(id)
	})
	rung.Ring("turn")
	receiveValue(t, busy, "the first ring")
	rung.Ring("turn")
	rung.Ring("other")
	close(goOn)
	l.waitHandled(t, 2, "turn")
	l.waitHandled(t, 1, "other")
}

func everyListenerHears(t *testing.T, rung, heard dispatch.Bell) {
	one, two := newLog(), newLog()
	listenUntilEnd(t, rung, heard, one.noteTurn)
	listenUntilEnd(t, heard, rung, two.noteTurn)
	turns := turnIDs(50)
	for _, id := range turns {
		rung.Ring(id)
	}
	one.waitHandled(t, 1, turns...)
	two.waitHandled(t, 1, turns...)
}

func listenEndsWithItsContext(t *testing.T, _, heard dispatch.Bell) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- heard.Listen(ctx, func([]string) {}) }()
	cancel()
	if err := receiveValue(t, ended, "the end of Listen"); !errors.Is(err, context.Canceled) {
		t.Errorf("Listen returned %v, want %v", err, context.Canceled)
	}
}

func ringWaitsForNobody(t *testing.T, rung, heard dispatch.Bell) {
	goOn := make(chan struct{})
	listenUntilEnd(t, rung, heard, func(string) { <-goOn })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, id := range turnIDs(10_000) {
			rung.Ring(id)
		}
	}()
	receiveValue(t, done, "rings while the listener is stuck")
	close(goOn)
}
