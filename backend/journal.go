package backend

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// JournalEntry records a tool call: its possible effects, and whether the outcome
// is known.
type JournalEntry struct {
	Step   int          `json:"step"`
	CallID string       `json:"call_id"`
	Tool   string       `json:"tool"`
	Effect tools.Effect `json:"effect"`
	// IdempotencyKey is passed to the tool so that it can recognize repetitions. It
	// is unique to the call.
	IdempotencyKey string    `json:"idempotency_key"`
	Began          time.Time `json:"began"`
	// Outcome is empty until it is known.
	Outcome  event.CallOutcome `json:"outcome,omitempty"`
	Duration time.Duration     `json:"duration,omitempty"`
	// Resume is where the tool continues if the process dies during the call; nil if it cannot
	// continue.
	Resume json.RawMessage `json:"resume,omitempty"`
	// After holds the side effects of the call. It is only set for Journaler.Settle; the journal
	// of a State does not repeat it.
	After *Aftermath `json:"after,omitempty"`
}

// Aftermath holds a call's effects, apart from its result.
type Aftermath struct {
	// Interactions are the interactions that a call waits for; Resume is the state from which its
	// tool continues.
	Interactions []*Interaction  `json:"tickets,omitempty"`
	Resume       json.RawMessage `json:"resume,omitempty"`
	// Handoff is the agent requested to take over.
	Handoff string `json:"hand_off,omitempty"`
	// Usage and Cost cover the call's delegates; Currency is the currency of Cost.
	Usage    model.Usage `json:"usage,omitzero"`
	Cost     float64     `json:"cost,omitempty"`
	Currency string      `json:"currency,omitempty"`
	// Agents breaks the usage down by agent.
	Agents event.AgentUsages `json:"agents,omitempty"`
	// Session is the session as changed by the turn so far; nil if it has not changed since it was
	// last handed out.
	Session *SessionState `json:"session,omitempty"`
}

// Journaler is implemented by hosts that record calls in the middle of a step, so
// that the turn can continue there if the process dies. It is only called from the
// goroutine that runs Execute.
type Journaler interface {
	// Begin is called before tool calls of which at least one has an effect other than
	// tools.Read. The state is the turn's in the middle of the step: its journal has an entry
	// without outcome for each call about to begin. An error prevents the calls and fails the
	// turn.
	Begin(ctx context.Context, state *State) error
	// Keep records durably where a running call can continue.
	Keep(ctx context.Context, entry *JournalEntry) error
	// Settle records the outcome of a call as soon as it is known. result is what the model will
	// see; nil for a waiting call. Settle must not block, and may keep its arguments.
	Settle(entry *JournalEntry, result *model.ToolResult)
}

// Recorded is a call as recorded by a Journaler: the entry, and the result, if any.
type Recorded struct {
	Entry  JournalEntry
	Result *model.ToolResult
}

// Indeterminate decides the outcome of a call that was running when the runtime stopped and must
// not be repeated.
type Indeterminate string

// The policies for such a call.
const (
	// IndeterminateError returns an error to the model: the call may or may not
	// have taken effect. It is the default.
	IndeterminateError Indeterminate = "error"
	// IndeterminateAsk asks a person, whose answer becomes the result.
	IndeterminateAsk Indeterminate = "ask"
)

// ActionIndeterminate is the action of the interaction about such a call.
const ActionIndeterminate = "tool:Indeterminate"

// Record adds to the state what Journaler.Keep and Settle received about a call after the state was
// created. It ignores a call that was not about to begin then.
func (s *State) Record(entry JournalEntry, result *model.ToolResult) {
	after := entry.After
	entry.After = nil
	c := s.begunCall(&entry)
	if c == nil {
		return
	}
	if entry.Outcome == "" {
		if i := s.entryIndex(entry.IdempotencyKey); i >= 0 {
			s.Journal[i].Resume = entry.Resume
		}
		return
	}
	waits := after != nil && len(after.Interactions) > 0
	if result == nil && !waits {
		return // there is nothing to continue from
	}
	i := s.entryIndex(entry.IdempotencyKey)
	switch {
	case i < 0:
		s.Journal = append(s.Journal, entry)
	case !s.Journal[i].Began.Equal(entry.Began):
		return // the call has been resumed since
	default:
		s.Journal[i] = entry
	}
	c.Outcome, c.Result = entry.Outcome, result
	if waits {
		*c = CallState{ID: c.ID, Outcome: event.CallSuspended, Arguments: c.Arguments, Interactions: after.Interactions, Resume: after.Resume}
	}
	if after != nil {
		s.applyAftermath(after)
	}
}

// begunCall returns an entry's call if it was about to begin when the state was created and has no
// outcome yet.
func (s *State) begunCall(entry *JournalEntry) *CallState {
	if entry.Step != s.Stats.Steps {
		return nil
	}
	for i := range s.Calls {
		if c := &s.Calls[i]; c.ID == entry.CallID && c.Decided && c.Outcome == "" && c.Result == nil {
			return c
		}
	}
	return nil
}

// entryIndex returns the index of a call in the journal, or -1.
func (s *State) entryIndex(key string) int {
	return slices.IndexFunc(s.Journal, func(e JournalEntry) bool { return e.IdempotencyKey == key })
}

// applyAftermath applies a call's effects, apart from its result.
func (s *State) applyAftermath(a *Aftermath) {
	if len(a.Agents) > 0 {
		s.Agents = s.AgentUsages()
		for _, u := range a.Agents {
			s.Agents.Add(u)
		}
	}
	s.Stats.Usage.Add(a.Usage)
	s.Stats.Cost += a.Cost
	s.Spent.Tokens += a.Usage.Total()
	s.Spent.Cost += a.Cost
	if s.Stats.Currency == "" {
		s.Stats.Currency = a.Currency
	}
	if s.Handoff == "" {
		s.Handoff = a.Handoff
	}
	if a.Session != nil && a.Session.Version > s.SessionState.Version {
		s.SessionState = *a.Session
	}
}
