package dispatchtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// log records which turns were handled, and when.
type log struct {
	mu      sync.Mutex
	at      map[string][]time.Time
	changed chan struct{} // closed and replaced by each note
}

func newLog() *log {
	return &log{at: make(map[string][]time.Time), changed: make(chan struct{})}
}

// handleTurn is a handler that only records.
func (l *log) handleTurn(_ context.Context, turnID string) { l.noteTurn(turnID) }

func (l *log) noteTurn(turnID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[turnID] = append(l.at[turnID], time.Now())
	close(l.changed)
	l.changed = make(chan struct{})
}

// handledAt returns the times when a turn was handled.
func (l *log) handledAt(turnID string) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.at[turnID])
}

// waitHandled waits until each turn was handled at least the given number of times.
func (l *log) waitHandled(t *testing.T, times int, turnIDs ...string) {
	t.Helper()
	late := time.After(patience)
	missing := turnIDs
	for {
		l.mu.Lock()
		missing = slices.DeleteFunc(slices.Clone(missing), func(id string) bool { return len(l.at[id]) >= times })
		changed := l.changed
		l.mu.Unlock()
		if len(missing) == 0 {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%d of %d turns were not handled %d times; the first is %s", len(missing), len(turnIDs), times, missing[0])
		}
	}
}
