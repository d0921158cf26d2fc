package work

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/store"
)

// Begin stores the turn's state before tools are called. If all of them are repeated because a
// worker died, that state is stored already: storing it again would count as progress, and a tool
// that kills its worker would do so forever.
func (r *recorder) Begin(ctx context.Context, state *backend.State) error {
	known := true
	for i := range state.Journal {
		e := &state.Journal[i]
		if e.Outcome == "" {
			r.noteCallStart(e.CallID)
		}
		if e.Outcome != "" || r.inDoubt[e.IdempotencyKey] {
			continue
		}
		known = false
		if err := r.enterCall(e, nil); err != nil {
			return err
		}
	}
	if known {
		return r.brokenErr()
	}
	return r.commitStep(ctx, state)
}

// noteCallStart records that a call is about to begin.
func (r *recorder) noteCallStart(callID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls.beginCall(callID)
}

// Keep stores the data from which a running call can resume.
func (r *recorder) Keep(ctx context.Context, entry *backend.JournalEntry) error {
	if err := r.enterCall(entry, nil); err != nil {
		return err
	}
	if err := r.flushEvents(ctx); err != nil {
		return err
	}
	return r.brokenErr()
}

// Settle stores the outcome of a call.
func (r *recorder) Settle(entry *backend.JournalEntry, result *model.ToolResult) {
	if err := r.enterCall(entry, result); err != nil {
		_ = r.setBroken(err)
	}
}

// enterCall queues a journal entry for a call.
func (r *recorder) enterCall(entry *backend.JournalEntry, result *model.ToolResult) (err error) {
	row := store.JournalRow{Key: entry.IdempotencyKey}
	if row.Entry, err = json.Marshal(entry); err != nil {
		return fmt.Errorf("keep the call %s: %w", entry.CallID, err)
	}
	if result != nil {
		if row.Result, err = json.Marshal(result); err != nil {
			return fmt.Errorf("keep the result of call %s: %w", entry.CallID, err)
		}
	}
	made := r.unsavedArtifacts() // the journal may refer to them
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.err != nil {
		return nil
	}
	if entry.Outcome != "" {
		if ev, ok := r.calls.settleCall(entry.CallID); ok {
			r.endFrame()
			r.addEvent(&ev)
		}
	}
	r.queue.journal = append(r.queue.journal, row)
	r.queue.made = append(r.queue.made, made...)
	r.scheduleCommit(stateDelay)
	return nil
}

// commitStep commits the turn's state together with the queue.
func (r *recorder) commitStep(ctx context.Context, state *backend.State) error {
	add, err := r.stateCommit(state)
	if err != nil {
		return err
	}
	return r.commitWith(ctx, func(c *store.Commit) bool {
		add(c)
		return true
	})
}

// stateCommit returns a function that adds a state to a commit. Messages and the journal are stored
// separately and incrementally, so that a commit does not grow with the turn.
func (r *recorder) stateCommit(state *backend.State) (func(*store.Commit), error) {
	slim := *state
	slim.Messages, slim.Journal = nil, nil
	data, err := json.Marshal(&slim)
	if err != nil {
		return nil, fmt.Errorf("keep the state of turn %s: %w", r.turn.ID, err)
	}
	added, err := r.unsavedMessages(state.Messages)
	if err != nil {
		return nil, err
	}
	artifacts := r.unsavedArtifacts()
	return func(c *store.Commit) {
		c.State, c.Steps, c.Messages = data, state.Stats.Steps, added
		c.Artifacts = append(c.Artifacts, artifacts...)
	}, nil
}

// unsavedMessages returns the messages that are not stored yet.
func (r *recorder) unsavedMessages(all []model.Message) ([][]byte, error) {
	if len(all) < r.messages {
		return nil, fmt.Errorf("turn %s has %d messages, but %d were kept", r.turn.ID, len(all), r.messages)
	}
	list, err := EncodeMessages(all[r.messages:])
	if err != nil {
		return nil, fmt.Errorf("keep the messages of turn %s: %w", r.turn.ID, err)
	}
	r.messages = len(all)
	return list, nil
}

// ending describes how the work on a turn ends.
type ending struct {
	// state is the state to resume from, for a turn that is handed back or waits for
	// interactions.
	state        *backend.State
	interactions []*interaction.Request
	yield        bool
	// due is when a turn that was handed back should continue.
	due time.Time
	// status, result, agents, messages, steps and snapshot describe an ended turn.
	status   store.Status
	result   json.RawMessage
	agents   event.AgentUsages
	messages []model.Message
	steps    int
	snapshot *store.Snapshot
}

// commitEnd commits the end of the work on a turn. It must not fail because the turn's context has
// ended.
func (r *recorder) commitEnd(ctx context.Context, e ending) error {
	r.pool.noteChange(r.turn.ID)
	fill, err := r.endingCommit(&e)
	if err != nil {
		return err
	}
	return r.commitWith(context.WithoutCancel(ctx), func(c *store.Commit) bool {
		fill(c)
		return true
	})
}

func (r *recorder) endingCommit(e *ending) (func(*store.Commit), error) {
	fill := func(*store.Commit) {}
	if e.state != nil {
		add, err := r.stateCommit(e.state)
		if err != nil {
			return nil, err
		}
		fill = add
	}
	switch {
	case e.yield:
		return func(c *store.Commit) { fill(c); c.Yield, c.Due = true, e.due }, nil
	case e.status == "":
		suspend := new(store.Suspend)
		for _, request := range e.interactions {
			suspend.Open = append(suspend.Open, request.ID)
		}
		return func(c *store.Commit) { fill(c); c.Suspend = suspend }, nil
	}
	var added [][]byte
	if e.status == store.Succeeded || len(e.messages) >= r.messages {
		var err error
		if added, err = r.unsavedMessages(e.messages); err != nil {
			return nil, err
		}
	}
	artifacts := r.unsavedArtifacts()
	return func(c *store.Commit) {
		c.Messages, c.Steps, c.Artifacts = added, e.steps, append(c.Artifacts, artifacts...)
		c.Finish = &store.Finish{Status: e.status, Result: e.result, Agents: e.agents, Snapshot: e.snapshot}
	}, nil
}
