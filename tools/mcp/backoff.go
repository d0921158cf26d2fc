package mcp

import "time"

const (
	// steady is the minimum lifetime of a session for its end not to count as another consecutive
	// failure.
	steady = 30 * time.Second
	// firstPause and longestPause bound the pauses between failures.
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// backoff limits when to reconnect to a server: immediately after the first failure, and later
// after each further consecutive failure.
type backoff struct {
	failures int
	until    time.Time
}

// noteFailure counts a failure: connecting failed, or a session ended after the given lifetime.
func (b *backoff) noteFailure(now time.Time, lived time.Duration) {
	if lived >= steady {
		b.failures = 0
	}
	b.failures++
	if b.failures == 1 {
		b.until = now
		return
	}
	pause := longestPause
	if shift := b.failures - 2; shift < 5 {
		pause = min(firstPause<<shift, longestPause)
	}
	b.until = now.Add(pause)
}

// remainingPause returns how long to wait before connecting.
func (b *backoff) remainingPause(now time.Time) time.Duration {
	return max(b.until.Sub(now), 0)
}
