package a2a

import (
	"time"

	"github.com/agentruntime/agentruntime/service"
)

// clock waits for news of a turn and for alarms, in the follower's only goroutine.
type clock struct {
	service.Waiter
	// flush rings when text is to be sent, and alive when an idle stream must send a keep-alive.
	flush, alive alarm
}

// newClock returns a clock with a waiter for news; nil uses the default.
func newClock(w service.Waiter) *clock {
	if w == nil {
		w = newNews()
	}
	return &clock{Waiter: w}
}

// Wait waits for a Wake, or for an alarm. It ignores the idle time.
func (c *clock) Wait(time.Duration) (rang bool, err error) {
	left := c.flush.remaining()
	if alive := c.alive.remaining(); left == 0 || alive > 0 && alive < left {
		left = alive
	}
	return c.Waiter.Wait(left)
}

// alarm rings once each time it is set. The zero value is not set.
type alarm struct{ at time.Time }

// setOnce sets the alarm, unless it is set.
func (a *alarm) setOnce(d time.Duration) {
	if a.at.IsZero() {
		a.at = time.Now().Add(d)
	}
}

// remaining returns the time until the alarm rings: 0 if it is not set, otherwise more.
func (a *alarm) remaining() time.Duration {
	if a.at.IsZero() {
		return 0
	}
	return max(time.Until(a.at), 1)
}

// tryFire reports whether the alarm rang since the last time.
func (a *alarm) tryFire() bool {
	if a.at.IsZero() || time.Now().Before(a.at) {
		return false
	}
	a.at = time.Time{}
	return true
}

// news waits for news of a turn.
type news struct {
	woken chan struct{}
	timer *time.Timer
}

func newNews() *news { return &news{woken: make(chan struct{}, 1)} }

// Wait waits for a Wake, or until idle has passed.
func (n *news) Wait(idle time.Duration) (quiet bool, err error) {
	if idle == 0 {
		<-n.woken
		return false, nil
	}
	if n.timer == nil {
		n.timer = time.NewTimer(idle)
	} else {
		n.timer.Reset(idle)
	}
	defer n.timer.Stop()
	select {
	case <-n.woken:
		return false, nil
	case <-n.timer.C:
		return true, nil
	}
}

// Wake ends a Wait.
func (n *news) Wake() {
	select {
	case n.woken <- struct{}{}:
	default: // it is awake
	}
}
