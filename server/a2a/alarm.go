package a2a

import "time"

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
