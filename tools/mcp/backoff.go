package mcp

import "time"

const (
	// steady is how long a session must have lived for its end not to count as
	// one more failure of a row.
	steady = 30 * time.Second
	// firstPause and longestPause bound the pauses between failures.
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// backoff says when a server may be connected to again. After a first failure
// that is at once, after each more of a row later.
type backoff struct {
	failures int
	until    time.Time
}

// noteFailure counts a failure: connecting went wrong, or a session ended that had
// begun a time ago.
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

// remainingPause returns how long connecting must wait.
func (b *backoff) remainingPause(now time.Time) time.Duration {
	return max(b.until.Sub(now), 0)
}
