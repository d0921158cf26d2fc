package dispatchtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store/dispatch"
)

// OpenNotifiers returns two notifiers of an otherwise unused store: one to send with and one to
// listen to, as from two processes. They may be the same.
type OpenNotifiers func(t *testing.T) (sender, heard dispatch.Notifier)

// RunNotifiers runs all tests of notifiers.
func RunNotifiers(t *testing.T, open OpenNotifiers) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, sender, heard dispatch.Notifier)
	}{
		{"ANotificationIsHeard", aNotificationIsHeard},
		{"NotificationsOfManyTurnsAreAllHeard", notificationsOfManyTurnsAreAllHeard},
		{"ANotificationWhileListenersAreBusyIsHeard", aNotificationWhileListenersAreBusyIsHeard},
		{"EveryListenerHears", everyListenerHears},
		{"ListenEndsWithItsContext", listenEndsWithItsContext},
		{"NotifyNeverBlocks", notifyNeverBlocks},
	} {
		t.Run(test.name, func(t *testing.T) {
			sender, heard := open(t)
			test.run(t, sender, heard)
		})
	}
}

// listenUntilEnd listens until the test ends. It returns after the first notification was heard,
// because only that proves that notifications arrive.
func listenUntilEnd(t *testing.T, sender, heard dispatch.Notifier, hear func(turnID string)) {
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
		sender.Notify(probe)
		select {
		case <-probed:
			return
		case err := <-ended:
			ended <- err
			t.Fatalf("listen: %v", err)
		case <-late:
			t.Fatal("no notification is heard")
		case <-again.C:
		}
	}
}

func aNotificationIsHeard(t *testing.T, sender, heard dispatch.Notifier) {
	got := make(chan string, 100)
	listenUntilEnd(t, sender, heard, func(id string) { got <- id })
	for _, id := range turnIDs(20) {
		sender.Notify(id)
		if first := receiveValue(t, got, "the notification for "+id); first != id {
			t.Errorf("heard a notification for %s, want %s", first, id)
		}
	}
}

func notificationsOfManyTurnsAreAllHeard(t *testing.T, sender, heard dispatch.Notifier) {
	l := newLog()
	listenUntilEnd(t, sender, heard, l.noteTurn)
	turns := turnIDs(2000)
	for _, id := range turns {
		for range 5 {
			sender.Notify(id)
		}
	}
	l.waitHandled(t, 1, turns...)
}

// A notification follows the change it announces. A notification that arrives while the listener handles an
// earlier one announces a change that the listener may have missed.
func aNotificationWhileListenersAreBusyIsHeard(t *testing.T, sender, heard dispatch.Notifier) {
	l := newLog()
	busy, goOn := make(chan struct{}), make(chan struct{})
	first := true
	listenUntilEnd(t, sender, heard, func(id string) {
		if first {
			first = false
			close(busy)
			<-goOn
		}
		l.noteTurn(id)
	})
	sender.Notify("turn")
	receiveValue(t, busy, "the first notification")
	sender.Notify("turn")
	sender.Notify("other")
	close(goOn)
	l.waitHandled(t, 2, "turn")
	l.waitHandled(t, 1, "other")
}

func everyListenerHears(t *testing.T, sender, heard dispatch.Notifier) {
	one, two := newLog(), newLog()
	listenUntilEnd(t, sender, heard, one.noteTurn)
	listenUntilEnd(t, heard, sender, two.noteTurn)
	turns := turnIDs(50)
	for _, id := range turns {
		sender.Notify(id)
	}
	one.waitHandled(t, 1, turns...)
	two.waitHandled(t, 1, turns...)
}

func listenEndsWithItsContext(t *testing.T, _, heard dispatch.Notifier) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- heard.Listen(ctx, func([]string) {}) }()
	cancel()
	if err := receiveValue(t, ended, "the end of Listen"); !errors.Is(err, context.Canceled) {
		t.Errorf("Listen returned %v, want %v", err, context.Canceled)
	}
}

func notifyNeverBlocks(t *testing.T, sender, heard dispatch.Notifier) {
	goOn := make(chan struct{})
	listenUntilEnd(t, sender, heard, func(string) { <-goOn })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, id := range turnIDs(10_000) {
			sender.Notify(id)
		}
	}()
	receiveValue(t, done, "notifications while the listener is stuck")
	close(goOn)
}
