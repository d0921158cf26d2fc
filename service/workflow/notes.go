package workflow

import (
	"maps"
	"slices"
	"sync"
)

// maxNotes is how many turns are noted at most: with more, all runs are looked at.
const maxNotes = claimBatch

// turnNotes are turns whose runs are to be looked at.
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

// take returns the notes and forgets them. More than maxNotes are not all that there were.
func (n *turnNotes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	ids := slices.Sorted(maps.Keys(n.ids))
	n.ids = nil
	return ids
}
