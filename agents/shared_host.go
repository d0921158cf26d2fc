package agents

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
)

// sharedHost is a host that goroutines use one at a time, until the turn's code returns.
type sharedHost struct {
	backend.Host
	mu   sync.Mutex
	over bool
	// code is State.Code of the states that the host returns.
	code json.RawMessage
}

// use calls do with the host, unless the turn has ended.
func (h *sharedHost) use(do func(backend.Host)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return ErrTurnOver
	}
	do(h.Host)
	return nil
}

func (h *sharedHost) setCode(code json.RawMessage) { h.code = code }

func (h *sharedHost) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// Emit appends an event.
func (h *sharedHost) Emit(data event.Data) { _ = h.use(func(to backend.Host) { to.Emit(data) }) }

// EmitDelegated appends an event of a delegate.
func (h *sharedHost) EmitDelegated(ev *event.Event) {
	_ = h.use(func(to backend.Host) { to.EmitDelegated(ev) })
}

// FlushSession emits the changes of the session.
func (h *sharedHost) FlushSession() { _ = h.use(backend.Host.FlushSession) }

// forLoop returns the host for the loop, with a journal if there is one.
func (h *sharedHost) forLoop() backend.Host {
	journal, ok := h.Host.(backend.Journaler)
	if !ok {
		return h
	}
	return &journaledHost{h, journal}
}

// journaledHost is a sharedHost with a journal.
type journaledHost struct {
	*sharedHost
	journal backend.Journaler
}

// Begin stores the turn before tool calls.
func (h *journaledHost) Begin(ctx context.Context, state *backend.State) error {
	state.Code = h.code
	return h.journal.Begin(ctx, state)
}

// Keep stores where a running call resumes.
func (h *journaledHost) Keep(ctx context.Context, entry *backend.JournalEntry) error {
	return h.journal.Keep(ctx, entry)
}

// Settle stores the result of a call.
func (h *journaledHost) Settle(entry *backend.JournalEntry, result *model.ToolResult) {
	h.journal.Settle(entry, result)
}
