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

// JournalEntry records that a tool was called: what it may have done to the
// world, and whether the outcome is known.
type JournalEntry struct {
	Step   int          `json:"step"`
	CallID string       `json:"call_id"`
	Tool   string       `json:"tool"`
	Effect tools.Effect `json:"effect"`
	// IdempotencyKey is what the tool was given to tell repetitions by. No other
	// call has it.
	IdempotencyKey string    `json:"idempotency_key"`
	Began          time.Time `json:"began"`
	// Outcome is empty as long as it is not known.
	Outcome  event.CallOutcome `json:"outcome,omitempty"`
	Duration time.Duration     `json:"duration,omitempty"`
	// Resume is what the tool goes on from when the process dies while the call
	// is under way; nil for one that cannot go on.
	Resume json.RawMessage `json:"resume,omitempty"`
	// After is what the call left behind besides its result. It is set for
	// Journaler.Settle alone: the journal of a State does not repeat it.
	After *Aftermath `json:"after,omitempty"`
}

// Aftermath is what a call left behind besides its result.
type Aftermath struct {
	// Interactions are what a call waits for, and Resume is what its tool needs to go
	// on.
	Interactions []*Interaction  `json:"tickets,omitempty"`
	Resume       json.RawMessage `json:"resume,omitempty"`
	// HandOff is the agent that was asked to take over.
	HandOff string `json:"hand_off,omitempty"`
	// Usage and Cost are what the delegates of the call used, and Currency is
	// that of Cost.
	Usage    model.Usage `json:"usage,omitzero"`
	Cost     float64     `json:"cost,omitempty"`
	Currency string      `json:"currency,omitempty"`
	// Session is what the turn made of its session up to then; nil when that did
	// not change since it was handed out last.
	Session *SessionState `json:"session,omitempty"`
}

// Journaler is implemented by hosts that keep what happens in the middle of a
// step, so that the turn can go on there when the process has died. It is called
// from the goroutine that runs Execute only.
type Journaler interface {
	// Begin is called before tools are called of which at least one has an
	// effect other than tools.Read. The state is that of the turn in the middle
	// of the step: its journal has an entry without outcome for each call that is
	// about to begin. An error keeps the tools from being called and fails the
	// turn.
	Begin(ctx context.Context, state *State) error
	// Keep records what a call that is under way goes on from, and returns when
	// that is durable.
	Keep(ctx context.Context, entry *JournalEntry) error
	// Settle records what a call came to, as soon as it is known. The result is
	// what the model will see; nil for a call that waits. It must not keep the
	// caller waiting, and may keep what it is given.
	Settle(entry *JournalEntry, result *model.ToolResult)
}

// Recorded is what a Journaler was told of a call: the entry, and what the call came
// to, if it has.
type Recorded struct {
	Entry  JournalEntry
	Result *model.ToolResult
}

// Indeterminate says what becomes of a call that was under way when the runtime
// stopped and must not be repeated.
type Indeterminate string

// The ways to go on with such a call.
const (
	// IndeterminateError tells the model that the call may or may not have taken
	// effect. It is the default.
	IndeterminateError Indeterminate = "error"
	// IndeterminateAsk asks a person, whose answer becomes the result.
	IndeterminateAsk Indeterminate = "ask"
)

// ActionIndeterminate is what the interaction of such a call asks for.
const ActionIndeterminate = "tool:Indeterminate"

// Record puts into the state what Journaler.Keep and Settle were told of a call
// after the state was made. It does nothing for a call that was not about to begin then.
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
		return // nothing could be gone on with
	}
	i := s.entryIndex(entry.IdempotencyKey)
	switch {
	case i < 0:
		s.Journal = append(s.Journal, entry)
	case !s.Journal[i].Began.Equal(entry.Began):
		return // the call waited then, and went on since
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

// begunCall returns the call of an entry, if it was about to begin when the state was
// made and has not come to anything since.
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

// entryIndex returns the place of a call in the journal, or -1.
func (s *State) entryIndex(key string) int {
	return slices.IndexFunc(s.Journal, func(e JournalEntry) bool { return e.IdempotencyKey == key })
}

// applyAftermath takes in what a call left behind.
func (s *State) applyAftermath(a *Aftermath) {
	s.Stats.Usage.Add(a.Usage)
	s.Stats.Cost += a.Cost
	s.Spent.Tokens += a.Usage.Total()
	s.Spent.Cost += a.Cost
	if s.Stats.Currency == "" {
		s.Stats.Currency = a.Currency
	}
	if s.HandOff == "" {
		s.HandOff = a.HandOff
	}
	if a.Session != nil && a.Session.Version > s.SessionState.Version {
		s.SessionState = *a.Session
	}
}
