package workflow

import (
	"maps"
	"slices"
	"sync"
)

// maxNotes is the maximum number of noted turns: beyond it, all runs are checked.
const maxNotes = claimBatch

// turnNotes are turns whose runs must be checked.
type turnNotes struct {
	// news is signaled when there are notes.
	news chan struct{}

	mu  sync.Mutex
	ids map[string]struct{}
}

// add notes a turn. It does not block.
func (n *turnNotes) add(turnID string) {
	n.mu.Lock()
	if n.ids == nil {
		n.ids = make(map[string]struct{})
	}
	if len(n.ids) <= maxNotes {
		n.ids[turnID] = struct{}{}
	}
	n.mu.Unlock()
	signal(n.news)
}

// take returns the notes and clears them. If there are more than maxNotes, the list is incomplete.
func (n *turnNotes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	ids := slices.Sorted(maps.Keys(n.ids))
	n.ids = nil
	return ids
}

// signal puts a note into a channel unless it already has one.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
