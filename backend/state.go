package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// StateVersion is the version of the JSON form of a State.
const StateVersion = 1

// State is a turn between two steps, or in the middle of one: all that is needed
// to go on with it, in another process and days later. The agent, the conversation ahead of the turn
// and its input are not part of it; whoever resumes gives them again.
type State struct {
	Version int `json:"version"`
	// Agent is the id of the agent that has the conversation.
	Agent string        `json:"agent"`
	Stats plugins.Stats `json:"stats"`
	// Budgets and Output are those that the turn began with: they hold when
	// another agent has the conversation, too.
	Budgets *spec.Budgets      `json:"budgets,omitempty"`
	Output  *spec.OutputSchema `json:"output,omitempty"`
	Spent   Spent              `json:"spent,omitzero"`
	// Seq is that of the turn's latest event.
	Seq      uint64 `json:"seq,omitempty"`
	Response string `json:"response,omitempty"`
	// FinishReason is why the last answer ended.
	FinishReason model.FinishReason `json:"finish_reason,omitempty"`
	// Messages are those that the turn added behind its input.
	Messages []model.Message `json:"messages,omitempty"`
	Plugins  plugins.State   `json:"plugins,omitzero"`
	// Calls are those of the last answer, in order, as long as one of them has
	// no result, or InStep.
	Calls []CallState `json:"calls,omitempty"`
	// Remote is the turn at the peer, of an agent that runs elsewhere: its Resume
	// is what the backend needs to go on, and its Tickets what the peer waits for.
	Remote *CallState `json:"remote,omitempty"`
	// InStep tells that the step of Calls is not over, so that the turn goes on
	// with the rest of it. Otherwise it was suspended.
	InStep bool `json:"in_step,omitempty"`
	// Stop is the end that a plugin asked for and that comes when the step is
	// over.
	Stop *event.Termination `json:"stop,omitempty"`
	// Notes are messages that the next request alone contains.
	Notes []model.Message `json:"notes,omitempty"`
	// WithoutTools says that the next answer must not call tools.
	WithoutTools bool `json:"without_tools,omitempty"`
	// Continuations counts the answers that were continued because the output
	// limit cut them off, Repairs those that were asked for again because they
	// did not have the form asked for.
	Continuations int `json:"continuations,omitempty"`
	Repairs       int `json:"repairs,omitempty"`
	// HandOff is the agent that takes over at the next step.
	HandOff string         `json:"hand_off,omitempty"`
	Journal []JournalEntry `json:"journal,omitempty"`
	// Resolved are the answers that were taken in, by ticket.
	Resolved map[string]plugins.Resolution `json:"resolved,omitempty"`

	SessionState
}

// SessionState is what a turn has made of its session so far.
type SessionState struct {
	// Version counts the changes; 0 says that the session is as the turn found
	// it, and the rest is empty.
	Version uint64 `json:"session_version,omitempty"`
	// Custom is the application's own state; nil when there is none.
	Custom json.RawMessage `json:"custom,omitempty"`
	// Artifacts are those that the session holds, in order and without their
	// data, and ArtifactBytes is how much those of this turn have.
	Artifacts     []tools.Artifact `json:"artifacts,omitempty"`
	ArtifactBytes int              `json:"artifact_bytes,omitempty"`
}

// CallState is a tool call of a step that is not over.
type CallState struct {
	ID string `json:"id"`
	// Outcome is empty for a call that was not begun, and suspended for one that
	// waits.
	Outcome event.CallOutcome `json:"outcome,omitempty"`
	// Decided tells that the gates and hooks let the call through and that those
	// behind it did not run yet.
	Decided bool `json:"decided,omitempty"`
	// Skipped tells that a guard answered the call, so that it counts neither as
	// a success nor as a failure.
	Skipped bool `json:"skipped,omitempty"`
	// Arguments are what a person changed those of the call to.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result is what the call came to, once it has.
	Result *model.ToolResult `json:"result,omitempty"`
	// Tickets are what a suspended call waits for.
	Tickets []*plugins.Ticket `json:"tickets,omitempty"`
	// Resume is what a tool that waited needs to go on.
	Resume json.RawMessage `json:"resume,omitempty"`
	// Resolutions are the answers that came and were not acted on yet.
	Resolutions []plugins.Resolution `json:"resolutions,omitempty"`
}

// DecodeState reads the JSON form of a state. It refuses a form that it does
// not know, and one that no turn can be in: a corrupt state must not be taken
// for an empty one.
func DecodeState(data []byte) (*State, error) {
	s := new(State)
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("decode the state of a turn: %w", err)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// Clone returns a copy that can take in answers and records without changing s.
func (s *State) Clone() *State {
	c := *s
	c.Calls = slices.Clone(s.Calls)
	for i := range c.Calls {
		c.Calls[i].Resolutions = slices.Clone(c.Calls[i].Resolutions)
	}
	if s.Remote != nil {
		remote := *s.Remote
		remote.Resolutions = slices.Clone(remote.Resolutions)
		c.Remote = &remote
	}
	c.Journal = slices.Clone(s.Journal)
	c.Resolved = maps.Clone(s.Resolved)
	return &c
}

// Check reports why a turn cannot go on from the state.
func (s *State) Check() error {
	switch {
	case s.Version != StateVersion:
		return fmt.Errorf("the state of the turn has version %d; this runtime knows version %d", s.Version, StateVersion)
	case s.Agent == "":
		return errors.New("the state of the turn names no agent")
	case s.Stats.Steps < 0:
		return fmt.Errorf("the state of the turn counts %d steps", s.Stats.Steps)
	case !whole(s.Messages), !whole(s.Notes):
		return errors.New("a message of the state of the turn has an empty part")
	case s.Remote != nil && len(s.Calls) > 0:
		return errors.New("the state of the turn has calls of its own and a turn at a peer")
	case s.Remote != nil && s.Remote.Outcome == event.CallSuspended && (len(s.Remote.Tickets) == 0 || slices.Contains(s.Remote.Tickets, nil)):
		return errors.New("the turn at the peer waits for nothing")
	case s.InStep && len(s.Calls) == 0:
		return errors.New("the state of the turn is in the middle of a step without calls")
	case len(s.Calls) == 0:
		return nil
	}
	asked := s.asked()
	if len(asked) != len(s.Calls) {
		return fmt.Errorf("the state of the turn has %d calls, its last answer %d", len(s.Calls), len(asked))
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		switch {
		case c.ID != asked[i].ID:
			return fmt.Errorf("the state of the turn has call %q where its last answer has %q", c.ID, asked[i].ID)
		case c.Outcome == event.CallSuspended && (len(c.Tickets) == 0 || slices.Contains(c.Tickets, nil)):
			return fmt.Errorf("call %q of the turn waits for nothing", c.ID)
		case c.Outcome != "" && c.Outcome != event.CallSuspended && c.Result == nil:
			return fmt.Errorf("call %q of the turn has no result", c.ID)
		case c.Result != nil && slices.ContainsFunc(c.Result.Content, hollow):
			return fmt.Errorf("the result of call %q of the turn has an empty part", c.ID)
		}
	}
	return nil
}

// whole reports whether each part of messages has what its type says.
func whole(messages []model.Message) bool {
	return !slices.ContainsFunc(messages, func(m model.Message) bool { return slices.ContainsFunc(m.Parts, hollow) })
}

func hollow(p model.Part) bool {
	switch p.Type {
	case model.PartToolCall:
		return p.ToolCall == nil
	case model.PartToolResult:
		return p.ToolResult == nil || slices.ContainsFunc(p.ToolResult.Content, hollow)
	case model.PartReasoning:
		return p.Reasoning == nil
	case model.PartImage, model.PartFile:
		return p.Blob == nil
	default:
		return false
	}
}

// asked returns the calls of the last answer.
func (s *State) asked() []*model.ToolCall {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].Role == model.RoleAssistant {
			return s.Messages[i].ToolCalls()
		}
	}
	return nil
}

// Tickets returns what the turn waits for: the tickets that have no answer.
func (s *State) Tickets() []*plugins.Ticket {
	var open []*plugins.Ticket
	for c := range s.waiting() {
		open = append(open, c.open()...)
	}
	return open
}

// waiting returns what waits for answers.
func (s *State) waiting() iter.Seq[*CallState] {
	return func(yield func(*CallState) bool) {
		for i := range s.Calls {
			if c := &s.Calls[i]; c.Outcome == event.CallSuspended && !yield(c) {
				return
			}
		}
		if s.Remote != nil && s.Remote.Outcome == event.CallSuspended {
			yield(s.Remote)
		}
	}
}

// HasTicket reports whether the call waits, or has waited, for a ticket.
func (c *CallState) HasTicket(id string) bool {
	return slices.ContainsFunc(c.Tickets, func(t *plugins.Ticket) bool { return t.ID == id })
}

// open returns the tickets of the call that have no answer.
func (c *CallState) open() []*plugins.Ticket {
	var open []*plugins.Ticket
	for _, t := range c.Tickets {
		if !slices.ContainsFunc(c.Resolutions, func(r plugins.Resolution) bool { return r.Target == t.ID }) {
			open = append(open, t)
		}
	}
	return open
}

// UnknownTicketError says that an answer is for something that the turn does
// not wait for.
type UnknownTicketError struct {
	// Target is the ticket or call that was named.
	Target string
	// Open are the tickets that wait.
	Open []string
}

// Error names the target and what may be answered.
func (e *UnknownTicketError) Error() string {
	if len(e.Open) == 0 {
		return fmt.Sprintf("there is no interaction %q: the turn waits for nothing", e.Target)
	}
	return fmt.Sprintf("there is no interaction %q: the turn waits for %q", e.Target, e.Open)
}

// ResolutionError says that an answer does not fit its ticket.
type ResolutionError struct {
	// Target is the ticket.
	Target string
	// Conflict tells that the ticket has another answer already.
	Conflict bool
	Problem  string
}

// Error names the ticket and the problem.
func (e *ResolutionError) Error() string {
	return fmt.Sprintf("the answer to interaction %q cannot be used: %s", e.Target, e.Problem)
}

// Resolve takes in the answer to a ticket, which it names by the ticket's id or
// that of the call. An answer that was given before changes nothing. The errors
// are an *UnknownTicketError and a *ResolutionError; with either nothing
// changed.
func (s *State) Resolve(r plugins.Resolution) error {
	call, ticket := s.find(r.Target)
	if ticket == nil {
		return s.again(r)
	}
	r.Target = ticket.ID
	if problem := check(ticket, &r); problem != "" {
		return &ResolutionError{Target: ticket.ID, Problem: problem}
	}
	call.Resolutions = append(call.Resolutions, r)
	if s.Resolved == nil {
		s.Resolved = make(map[string]plugins.Resolution)
	}
	s.Resolved[ticket.ID] = r
	if len(call.Tickets) == 1 && call.ID != ticket.ID {
		s.Resolved[call.ID] = r
	}
	return nil
}

// find returns the open ticket that a target names, and its call.
func (s *State) find(target string) (*CallState, *plugins.Ticket) {
	for c := range s.waiting() {
		for _, t := range c.open() {
			if t.ID == target {
				return c, t
			}
		}
	}
	for c := range s.waiting() {
		if c.ID != target {
			continue
		}
		if open := c.open(); len(open) > 0 {
			return c, open[0]
		}
	}
	return nil, nil
}

// again judges an answer to something that has one already.
func (s *State) again(r plugins.Resolution) error {
	known, ok := s.Resolved[r.Target]
	if !ok {
		var open []string
		for _, t := range s.Tickets() {
			open = append(open, t.ID)
		}
		return &UnknownTicketError{Target: r.Target, Open: open}
	}
	if r.ID != "" && r.ID == known.ID || sameAnswer(&r, &known) {
		return nil
	}
	return &ResolutionError{Target: r.Target, Conflict: true, Problem: "it has another answer already"}
}

func sameAnswer(a, b *plugins.Resolution) bool {
	return a.Action == b.Action && a.Reason == b.Reason && sameJSON(a.Result, b.Result) && sameJSON(a.Arguments, b.Arguments)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if len(a) == 0 || len(b) == 0 || json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// check returns what is wrong with an answer, or "".
func check(t *plugins.Ticket, r *plugins.Resolution) string {
	switch r.Action {
	case plugins.ActionCancel:
		return ""
	case plugins.ActionResume:
	default:
		return fmt.Sprintf("its action is %q; allowed are resume and cancel", r.Action)
	}
	if len(r.Result) > 0 && !json.Valid(r.Result) {
		return "its result is no JSON"
	}
	if len(r.Arguments) > 0 && !object(r.Arguments) {
		return "its arguments are no JSON object"
	}
	if len(t.ResponseSchema) == 0 {
		return ""
	}
	form, err := schema.Compile(t.ResponseSchema)
	if err != nil {
		return fmt.Sprintf("the form that is asked for is no valid JSON Schema: %v", err)
	}
	value := r.Result
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	found, err := form.ValidateJSON(value)
	if err != nil {
		return err.Error()
	}
	if len(found) > 0 {
		return found[0].Error()
	}
	return ""
}

func object(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && fields != nil
}
