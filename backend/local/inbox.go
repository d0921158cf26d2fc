package local

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
)

// maxNotes is the maximum number of notes waiting for the turn. A call with more notes blocks.
const maxNotes = 8

// inbox holds the notes of running calls for their turn. A condition wakes the turn with fewer
// system calls than a channel would.
type inbox struct {
	mu sync.Mutex
	// cond is signaled when a note arrives, when space becomes available, and at the end.
	cond  sync.Cond
	notes []note
	// first is the memory for the first notes: a call that only returns sends one.
	first [1]note
	// closed is set once the turn stops listening; over, if not nil, is then closed.
	closed bool
	over   chan struct{}
}

// note is a message from a running call to the turn. Exactly one field is set.
type note struct {
	index int
	// result is the call's result.
	result *tools.Result
	// ended is why the context of an abandoned call ended.
	ended error
	// data is an event to emit.
	data event.Data
	// event is a delegate's event to emit.
	event *event.Event
	// delegated is a delegate's result.
	delegated *tools.DelegateResult
	// sampled is the usage of a model call that the tool made.
	sampled *sample
	// handOff requests another agent; the reply is an error if it cannot take over.
	handOff *handOffRequest
	// keep requests to store the state from which the call continues.
	keep *keepRequest
	// session reports that the call changed the session.
	session bool
}

// keepRequest is a call's request to store its state.
type keepRequest struct {
	ctx    context.Context //nolint:containedctx // that of the delegate which asks
	state  json.RawMessage
	answer chan error
}

// handOffRequest is a tool's request that another agent take over.
type handOffRequest struct {
	agent  string
	answer chan error
}

// sendNote gives the turn a note, unless nobody listens.
func (b *inbox) sendNote(n note) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.notes) >= maxNotes && !b.closed {
		b.cond.Wait()
	}
	if !b.closed {
		if b.notes == nil {
			b.notes = b.first[:0]
		}
		b.notes = append(b.notes, n)
		b.cond.Broadcast()
	}
}

// nextNote waits for a note and returns it.
func (b *inbox) nextNote() note {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.notes) == 0 {
		b.cond.Wait()
	}
	n := b.notes[0]
	if len(b.notes) == maxNotes {
		b.cond.Broadcast()
	}
	rest := copy(b.notes, b.notes[1:])
	b.notes[rest] = note{}
	b.notes = b.notes[:rest]
	return n
}

// overSignal returns a channel that is closed with the inbox.
func (b *inbox) overSignal() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == nil {
		b.over = make(chan struct{})
		if b.closed {
			close(b.over)
		}
	}
	return b.over
}

// closeInbox closes the inbox and drops later notes.
func (b *inbox) closeInbox() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.over != nil {
		close(b.over)
	}
	b.cond.Broadcast()
}
