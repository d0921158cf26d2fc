package mcp

import (
	"testing"
	"time"
)

func TestAServerThatKeepsFailingIsLeftAlone(t *testing.T) {
	t.Parallel()
	var b backoff
	now := time.Unix(0, 0)
	for i, want := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		b.noteFailure(now, time.Second)
		if got := b.remainingPause(now); got != want {
			t.Errorf("after %d failures the pause is %s, want %s", i+1, got, want)
		}
		if got := b.remainingPause(now.Add(want)); got != 0 {
			t.Errorf("after the pause it is %s", got)
		}
	}
	b.noteFailure(now, steady)
	if got := b.remainingPause(now); got != 0 {
		t.Errorf("after a session of %s the pause is %s", steady, got)
	}
}
