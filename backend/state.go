package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// StateVersion is the version of the JSON form of a State.
const StateVersion = 1

// State is a turn between two steps, or in the middle of one: everything needed to continue it,
// even days later in another process. The agent, the conversation before the turn and its input are
// not part of it; they are passed again to resume it.
type State struct {
	Version int `json:"version"`
	// Agent is the id of the agent that has the conversation.
	Agent string        `json:"agent"`
	Stats plugins.Stats `json:"stats"`
	// Revision is the revision in which the turn last ran; zero for a delegate, which uses its
	// root turn's.
	Revision StateRevision `json:"revision,omitzero"`
	// Budgets and Output are the turn's initial ones, which also apply after a handoff. Agents is
	// the usage of each agent; empty while one agent used one model.
	Agents  event.AgentUsages  `json:"agents,omitempty"`
	Budgets *spec.Budgets      `json:"budgets,omitempty"`
	Output  *spec.OutputSchema `json:"output,omitempty"`
	Spent   Spent              `json:"spent,omitzero"`
	// Seq is the sequence number of the turn's latest event.
	Seq      uint64 `json:"seq,omitempty"`
	Response string `json:"response,omitempty"`
	// FinishReason is why the last answer ended.
	FinishReason model.FinishReason `json:"finish_reason,omitempty"`
	// Messages are the messages that the turn added after its input.
	Messages []model.Message `json:"messages,omitempty"`
	Plugins  execution.State `json:"plugins,omitzero"`
	// Calls are the calls of the last answer, in order, while one of them has no result or InStep
	// is set.
	Calls []CallState `json:"calls,omitempty"`
	// Remote is the turn at the peer, for an agent that runs elsewhere: Resume is the backend's
	// state to continue from, and Interactions are the peer's.
	Remote *CallState `json:"remote,omitempty"`
	// Hosted is the progress of the turn at a hosted provider, for an agent that runs at one.
	Hosted json.RawMessage `json:"hosted,omitempty"`
	// InStep is set if the step of Calls is unfinished, so that the turn continues with the rest of
	// it. Otherwise it was suspended.
	InStep bool `json:"in_step,omitempty"`
	// Stop is the termination that a plugin requested for the end of the step.
	Stop *event.Termination `json:"stop,omitempty"`
	// Notes are messages for the next request only.
	Notes []model.Message `json:"notes,omitempty"`
	// WithoutTools forbids tool calls in the next answer.
	WithoutTools bool `json:"without_tools,omitempty"`
	// Continuations counts answers that were continued after the output limit cut them off, Repairs
	// answers that were requested again because of their form.
	Continuations int `json:"continuations,omitempty"`
	Repairs       int `json:"repairs,omitempty"`
	// Handoff is the agent that takes over at the next step.
	Handoff string         `json:"hand_off,omitempty"`
	Journal []JournalEntry `json:"journal,omitempty"`
	// Answered are the accepted answers, by interaction.
	Answered map[string]interaction.Answer `json:"resolved,omitempty"`
	// Said are user messages that came with answers. They follow the calls' results.
	Said []model.Message `json:"said,omitempty"`
	// Code is the data that the turn's Go code needs to continue; the loop ignores it.
	Code json.RawMessage `json:"code,omitempty"`

	SessionState
}

// StateRevision identifies a revision by its number, in the process that ran the turn, and by its
// content hash.
type StateRevision struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// SessionState is the session as changed by a turn so far.
type SessionState struct {
	// Version counts the changes; at 0 the session is unchanged, and the rest is
	// empty.
	Version uint64 `json:"session_version,omitempty"`
	// Custom is the application's own state; nil if absent.
	Custom json.RawMessage `json:"custom,omitempty"`
	// Artifacts are the session's artifacts, in order and without data. ArtifactBytes is the size
	// of this turn's artifacts.
	Artifacts     []tools.Artifact `json:"artifacts,omitempty"`
	ArtifactBytes int              `json:"artifact_bytes,omitempty"`
}

// CallState is a tool call of an unfinished step.
type CallState struct {
	ID string `json:"id"`
	// Outcome is empty for a call that has not begun, and suspended for a waiting call.
	Outcome event.CallOutcome `json:"outcome,omitempty"`
	// Decided is set if the gates and hooks allowed the call and the hooks after it have not run
	// yet.
	Decided bool `json:"decided,omitempty"`
	// Skipped is set if a guard answered the call, so that it counts neither as a
	// success nor as a failure.
	Skipped bool `json:"skipped,omitempty"`
	// Arguments are the call's arguments as edited by a person.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result is the result of the call, once it has one.
	Result *model.ToolResult `json:"result,omitempty"`
	// Interactions are the interactions that a suspended call waits for.
	Interactions []*Interaction `json:"tickets,omitempty"`
	// Resume is the state from which a tool that waited continues.
	Resume json.RawMessage `json:"resume,omitempty"`
	// Answers are the answers that have arrived but were not used yet.
	Answers []interaction.Answer `json:"resolutions,omitempty"`
}

// Interaction is a request in a state.
type Interaction struct {
	interaction.Request
	// Question is the tool's id for its question, for tools that ask questions.
	Question string `json:"question,omitempty"`
}

// DecodeState reads the JSON form of a state. It rejects unknown versions and inconsistent states:
// a corrupt state must not be mistaken for an empty one.
func DecodeState(data []byte) (*State, error) {
	s, err := decodeUnchecked(data)
	if err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// RestoreState reads the JSON form of a state whose messages and journal are stored separately,
// and adds everything recorded later. It rejects the same states as DecodeState.
func RestoreState(data []byte, messages []model.Message, journal []Recorded) (*State, error) {
	s, err := decodeUnchecked(data)
	if err != nil {
		return nil, err
	}
	s.Messages = messages
	s.Journal = make([]JournalEntry, len(journal))
	for i := range journal {
		s.Journal[i] = journal[i].Entry
		s.Journal[i].After = nil
	}
	for i := range journal {
		s.Record(journal[i].Entry, journal[i].Result)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// decodeUnchecked reads a state without checking it.
func decodeUnchecked(data []byte) (*State, error) {
	s := new(State)
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(s); err != nil {
		return nil, fmt.Errorf("decode the state of a turn: %w", err)
	}
	return s, nil
}

// Clone returns a copy that can be extended with answers and records without changing s.
func (s *State) Clone() *State {
	c := *s
	c.Calls = slices.Clone(s.Calls)
	for i := range c.Calls {
		c.Calls[i].Answers = slices.Clone(c.Calls[i].Answers)
	}
	if s.Remote != nil {
		remote := *s.Remote
		remote.Answers = slices.Clone(remote.Answers)
		c.Remote = &remote
	}
	c.Journal = slices.Clone(s.Journal)
	c.Answered = maps.Clone(s.Answered)
	return &c
}

// AgentUsages returns a copy of the usage of each agent. It has at least one entry.
func (s *State) AgentUsages() event.AgentUsages {
	if len(s.Agents) > 0 {
		return slices.Clone(s.Agents)
	}
	return event.AgentUsages{UsageOf(s.Agent, &s.Stats)}
}

// UsageOf returns the usage of an agent that ran the whole turn so far.
func UsageOf(agent string, stats *plugins.Stats) event.AgentUsage {
	u := event.AgentUsage{Agent: agent, ModelID: stats.ModelID, ToolCalls: stats.ToolCalls, Usage: stats.Usage}
	if stats.Currency != "" {
		u.Cost = &event.Cost{Amount: stats.Cost, Currency: stats.Currency}
	}
	return u
}

// Check returns an error if a turn cannot continue from the state.
func (s *State) Check() error {
	switch {
	case s.Version != StateVersion:
		return fmt.Errorf("the state of the turn has version %d; this runtime knows version %d", s.Version, StateVersion)
	case s.Agent == "":
		return errors.New("the state of the turn names no agent")
	case s.Stats.Steps < 0:
		return fmt.Errorf("the state of the turn counts %d steps", s.Stats.Steps)
	case !hasWholeParts(s.Messages), !hasWholeParts(s.Notes), !hasWholeParts(s.Said):
		return errors.New("a message of the state of the turn has an empty part")
	case s.Remote != nil && len(s.Calls) > 0:
		return errors.New("the state of the turn has both calls and a turn at a peer")
	case s.Remote != nil && s.Remote.Outcome == event.CallSuspended && (len(s.Remote.Interactions) == 0 || slices.Contains(s.Remote.Interactions, nil)):
		return errors.New("the turn at the peer waits for nothing")
	case s.InStep && len(s.Calls) == 0:
		return errors.New("the state of the turn is in the middle of a step without calls")
	case len(s.Calls) == 0:
		return nil
	}
	asked := s.askedCalls()
	if len(asked) != len(s.Calls) {
		return fmt.Errorf("the state of the turn has %d calls, its last answer %d", len(s.Calls), len(asked))
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		switch {
		case c.ID != asked[i].ID:
			return fmt.Errorf("the state of the turn has call %q where its last answer has %q", c.ID, asked[i].ID)
		case c.Outcome == event.CallSuspended && (len(c.Interactions) == 0 || slices.Contains(c.Interactions, nil)):
			return fmt.Errorf("call %q of the turn waits for nothing", c.ID)
		case c.Outcome != "" && c.Outcome != event.CallSuspended && c.Result == nil:
			return fmt.Errorf("call %q of the turn has no result", c.ID)
		case c.Result != nil && slices.ContainsFunc(c.Result.Content, isHollow):
			return fmt.Errorf("the result of call %q of the turn has an empty part", c.ID)
		}
	}
	return nil
}

// hasWholeParts reports whether all parts have the content that their types require.
func hasWholeParts(messages []model.Message) bool {
	return !slices.ContainsFunc(messages, func(m model.Message) bool { return slices.ContainsFunc(m.Parts, isHollow) })
}

func isHollow(p model.Part) bool {
	switch p.Type {
	case model.PartToolCall:
		return p.ToolCall == nil
	case model.PartToolResult:
		return p.ToolResult == nil || slices.ContainsFunc(p.ToolResult.Content, isHollow)
	case model.PartReasoning:
		return p.Reasoning == nil
	case model.PartImage, model.PartFile:
		return p.Blob == nil
	default:
		return false
	}
}

// askedCalls returns the calls of the last answer.
func (s *State) askedCalls() []*model.ToolCall {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].Role == model.RoleAssistant {
			return s.Messages[i].ToolCalls()
		}
	}
	return nil
}

// Interactions returns the interactions without an answer.
func (s *State) Interactions() []*interaction.Request {
	var open []*interaction.Request
	for c := range s.waitingCalls() {
		for _, request := range c.openInteractions() {
			open = append(open, &request.Request)
		}
	}
	return open
}

// waitingCalls returns the calls that wait for answers.
func (s *State) waitingCalls() iter.Seq[*CallState] {
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

// HasInteraction reports whether the call waits, or has waited, for an interaction.
func (c *CallState) HasInteraction(id string) bool {
	return slices.ContainsFunc(c.Interactions, func(t *Interaction) bool { return t.ID == id })
}

// openInteractions returns the interactions of the call that have no answer.
func (c *CallState) openInteractions() []*Interaction {
	var open []*Interaction
	for _, t := range c.Interactions {
		if !slices.ContainsFunc(c.Answers, func(r interaction.Answer) bool { return r.Target == t.ID }) {
			open = append(open, t)
		}
	}
	return open
}

// Answer records the answer to an interaction, found by its id or its call's. Repeating an answer
// changes nothing. An *interaction.UnknownError or *interaction.AnswerError also changes nothing.
func (s *State) Answer(r interaction.Answer) error {
	call, request := s.findOpen(r.Target)
	if request == nil {
		return s.checkRepeat(r)
	}
	r.Target = request.ID
	if err := interaction.Check(context.Background(), &request.Request, &r); err != nil {
		return err
	}
	if len(r.Message) > 0 {
		said, err := AnswerMessage(&r)
		if err == nil && (call == s.Remote || len(s.Hosted) > 0) {
			err = &interaction.AnswerError{Target: r.Target, Problem: "a message cannot accompany an answer to an agent whose loop runs elsewhere"}
		}
		if err != nil {
			return err
		}
		s.Said = append(slices.Clip(s.Said), *said)
	}
	forCall := r
	forCall.Message = nil // for the model, not the tool
	call.Answers = append(call.Answers, forCall)
	if s.Answered == nil {
		s.Answered = make(map[string]interaction.Answer)
	}
	s.Answered[request.ID] = r
	if len(call.Interactions) == 1 && call.ID != request.ID {
		s.Answered[call.ID] = r
	}
	return nil
}

// AnswerMessage returns the message that accompanies an answer. It fails with an
// *interaction.AnswerError unless it is a user message.
func AnswerMessage(r *interaction.Answer) (*model.Message, error) {
	said := new(model.Message)
	if err := json.Unmarshal(r.Message, said); err != nil {
		return nil, &interaction.AnswerError{Target: r.Target, Problem: "its message is invalid: " + err.Error()}
	}
	speaks := func(p model.Part) bool { return p.Type == model.PartText || p.Blob != nil }
	if said.Role != model.RoleUser || len(said.Parts) == 0 || slices.ContainsFunc(said.Parts, func(p model.Part) bool { return isHollow(p) || !speaks(p) }) {
		return nil, &interaction.AnswerError{Target: r.Target, Problem: "its message must be one of the user, with text or files"}
	}
	return said, nil
}

// findOpen returns the target's open interaction and its call.
func (s *State) findOpen(target string) (*CallState, *Interaction) {
	for c := range s.waitingCalls() {
		for _, t := range c.openInteractions() {
			if t.ID == target {
				return c, t
			}
		}
	}
	for c := range s.waitingCalls() {
		if c.ID != target {
			continue
		}
		if open := c.openInteractions(); len(open) > 0 {
			return c, open[0]
		}
	}
	return nil, nil
}

// checkRepeat checks an answer to an interaction that already has one.
func (s *State) checkRepeat(r interaction.Answer) error {
	known, ok := s.Answered[r.Target]
	if !ok {
		var open []string
		for _, t := range s.Interactions() {
			open = append(open, t.ID)
		}
		return &interaction.UnknownError{Target: r.Target, Open: open}
	}
	if r.ID != "" && r.ID == known.ID || r.Same(&known) {
		return nil
	}
	return &interaction.AnswerError{Target: r.Target, Conflict: true, Problem: "it already has another answer"}
}
