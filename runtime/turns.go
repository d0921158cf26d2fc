package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/telemetry"
)

// BusyPolicy says what becomes of a turn whose session has a live one.
type BusyPolicy string

// The policies. The empty one is QueueBehind.
const (
	// QueueBehind lets the turn wait until the others have ended.
	QueueBehind BusyPolicy = "queue"
	// RejectBusy refuses the turn with a *store.BusyError.
	RejectBusy BusyPolicy = "reject"
	// Interrupt cancels the others.
	Interrupt BusyPolicy = "interrupt"
)

// CreateTurn asks for a turn.
type CreateTurn struct {
	// SessionID is the session that the turn belongs to. It is required.
	SessionID string
	// ID is the turn's id; empty makes a new one.
	ID string
	// AgentID is the agent that works on it; empty is that of the session.
	AgentID string
	// Input is what the turn works on: at least one message.
	Input []model.Message
	// Params override those of the agent, field by field, and Overrides its
	// limits and the form of its answer.
	Params    model.Params
	Overrides resolve.Overrides
	// Limits are budgets that the turn is held to besides those of its agent, and
	// Deadline is when it must have ended: what is left of both when it is made.
	Limits   *spec.Budgets
	Deadline time.Time
	// Depth is how many turns, in other runtimes, led to this one. The error is a
	// *DelegationError where that is more than delegates may be nested.
	Depth int
	// Ephemeral is an agent that the turn brings along, in place of a declared one;
	// AgentID is then not used.
	Ephemeral *Ephemeral
	// InteractionTimeout and OnTimeout take the place of the service's, for what
	// the turn waits for.
	InteractionTimeout time.Duration
	OnTimeout          TimeoutPolicy
	// Metadata is a JSON object that the caller keeps with the turn.
	Metadata json.RawMessage
	// SnapshotID makes the turn go on from an earlier snapshot of the session,
	// instead of the latest.
	SnapshotID string
	// FromStart makes it go on from nothing: the model sees none of what was said
	// before.
	FromStart bool
	// OnBusy says what becomes of the turn when the session has a live one.
	OnBusy BusyPolicy
	// NotBefore is when the turn is due; zero is at once.
	NotBefore time.Time
	// Background tells that nobody waits for the turn.
	Background bool
	// IdempotencyKey makes the request repeatable: with the same key it returns
	// the turn that was made first. Keys belong to the session.
	IdempotencyKey string
}

// StoredTurn is a turn as it is kept.
type StoredTurn struct {
	store.Turn
	// Outcome is what the turn came to; nil while it is live.
	Outcome *TurnOutcome
	// Expired tells that the turn runs and its worker gave no sign of life for so
	// long that it is taken for dead.
	Expired bool
}

// TurnOutcome is what a turn came to.
type TurnOutcome struct {
	// Agent is the id of the agent that had the conversation at the end.
	Agent    string `json:"agent,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
	// Termination says why the turn ended.
	Termination event.Termination `json:"termination"`
	// Response is the text of the last answer, and FinishReason why that ended.
	Response     string             `json:"response,omitempty"`
	FinishReason model.FinishReason `json:"finish_reason,omitempty"`
	Steps        int                `json:"steps,omitempty"`
	Usage        event.Usage        `json:"usage,omitzero"`
	Cost         *event.Cost        `json:"cost,omitempty"`
	// SnapshotID is the snapshot that the turn left; empty when it left none.
	SnapshotID string `json:"snapshot_id,omitempty"`
}

// turnRequest is what a stored turn was asked for.
type turnRequest struct {
	// Input is how many of the turn's messages are its input.
	Input     int               `json:"input"`
	Params    model.Params      `json:"params,omitzero"`
	Overrides resolve.Overrides `json:"overrides,omitzero"`
	Ephemeral *Ephemeral        `json:"ephemeral,omitempty"`
	Depth     int               `json:"depth,omitempty"`
	// InteractionTimeout and OnTimeout take the place of the service's.
	InteractionTimeout spec.Duration `json:"interaction_timeout,omitempty"`
	OnTimeout          TimeoutPolicy `json:"on_timeout,omitempty"`
	// Trace is the trace that the turn was asked for in.
	Trace http.Header `json:"trace,omitempty"`
}

// CreateTurn stores a turn and returns at once; a worker, here or elsewhere,
// works on it. The errors are an *InvalidError, a *NotFoundError for the session
// or snapshot, a *store.StateError for an archived session, a *store.BusyError,
// a *store.ExistsError, a *store.KeyConflictError, and those of an agent that
// does not resolve. With any of them there is no turn.
func (s *Service) CreateTurn(ctx context.Context, caller Caller, req CreateTurn) (*StoredTurn, error) {
	scope, err := caller.scope()
	if err != nil {
		return nil, err
	}
	if err := checkTurn(&req); err != nil {
		return nil, err
	}
	session, err := s.Store.Session(ctx, scope, req.SessionID)
	if err != nil {
		return nil, named(err, "session", req.SessionID)
	}
	n, err := s.newTurn(ctx, scope, session, &req)
	if err != nil {
		return nil, err
	}
	made, err := s.Store.CreateTurn(ctx, n)
	if err != nil {
		return nil, named(err, "session", req.SessionID)
	}
	if req.OnBusy == Interrupt && made.ID == n.Turn.ID {
		if err := s.interrupt(ctx, caller, made); err != nil {
			return nil, err
		}
	}
	return s.view(made), nil
}

// newTurn returns the turn that a request asks for.
func (s *Service) newTurn(ctx context.Context, scope store.Scope, session *store.Session, req *CreateTurn) (*store.NewTurn, error) {
	same := *req
	same.Limits, same.Deadline = nil, time.Time{} // a repetition comes later, when less is left
	key, err := keyOf(req.IdempotencyKey, &same)
	if err != nil {
		return nil, err
	}
	agent := req.AgentID
	if agent == "" {
		agent = session.AgentID
	}
	if req.Ephemeral != nil {
		if err := s.checkEphemeral(req.Ephemeral); err != nil {
			return nil, err
		}
		agent = req.Ephemeral.Agent.ID
	}
	if agent == "" {
		return nil, &InvalidError{"agent_id", "neither the turn nor its session names an agent"}
	}
	overrides := req.Overrides
	if s.Runtime != nil {
		asked := &Request{AgentID: agent, Params: req.Params, Overrides: overrides, Depth: req.Depth}
		if overrides.Budgets, err = s.limits(agent, req); err != nil {
			return nil, err
		}
		asked.Overrides = overrides
		if req.Ephemeral != nil {
			asked.Ephemeral = &resolve.Ephemeral{Agent: &req.Ephemeral.Agent}
		}
		if err := s.Runtime.startable(ctx, asked); err != nil {
			return nil, err
		}
	}
	if req.SnapshotID != "" {
		snapshot, err := s.Store.Snapshot(ctx, scope, req.SnapshotID)
		if err == nil && snapshot.SessionID != session.ID {
			err = store.ErrNotFound
		}
		if err != nil {
			return nil, named(err, "snapshot", req.SnapshotID)
		}
	}
	input, err := encodeMessages(req.Input)
	if err != nil {
		return nil, &InvalidError{"input", err.Error()}
	}
	trace := make(http.Header)
	telemetry.Inject(ctx, trace)
	request, err := json.Marshal(turnRequest{
		Input: len(input), Params: req.Params, Overrides: overrides, Ephemeral: req.Ephemeral, Depth: req.Depth, Trace: trace,
		InteractionTimeout: spec.Duration(req.InteractionTimeout), OnTimeout: req.OnTimeout,
	})
	if err != nil {
		return nil, &InvalidError{"overrides", err.Error()}
	}
	id := req.ID
	if id == "" {
		id = s.NewID()
	}
	return &store.NewTurn{Key: key, Input: input, Reject: req.OnBusy == RejectBusy, Turn: store.Turn{
		ID: id, SessionID: session.ID, Owner: session.Owner, AgentID: agent, Request: request, Metadata: req.Metadata,
		Background: req.Background, SnapshotID: s.NewID(), ParentSnapshotID: req.SnapshotID, FromStart: req.FromStart,
		CreatedAt: s.now(), NotBefore: req.NotBefore.UTC().Truncate(time.Microsecond),
	}}, nil
}

// limits returns the budgets of a turn: those asked for, or else the agent's,
// within the limits and the deadline of the request.
func (s *Service) limits(agentID string, req *CreateTurn) (*spec.Budgets, error) {
	budgets := req.Overrides.Budgets
	if req.Limits == nil && req.Deadline.IsZero() {
		return budgets, nil
	}
	if budgets == nil && req.Ephemeral != nil {
		budgets = req.Ephemeral.Agent.Budgets
	} else if agent, ok := s.Runtime.Revision().Set().Agent(agentID); ok && budgets == nil {
		budgets = agent.Budgets
	}
	budgets = budgets.Within(req.Limits)
	if req.Deadline.IsZero() {
		return budgets, nil
	}
	left := req.Deadline.Sub(s.now())
	if left <= 0 {
		return nil, &InvalidError{"deadline", "it is over"}
	}
	return budgets.Within(&spec.Budgets{MaxDuration: new(spec.Duration(left))}), nil
}

func checkTurn(req *CreateTurn) error {
	if len(req.Input) == 0 {
		return ErrNoInput
	}
	switch {
	case req.Depth < 0:
		return &InvalidError{"depth", "it is less than 0"}
	case req.InteractionTimeout < 0:
		return &InvalidError{"interaction_timeout", "it is less than 0"}
	case req.OnTimeout != "" && req.OnTimeout != TimeoutCancels && req.OnTimeout != TimeoutFails:
		return &InvalidError{"on_timeout", fmt.Sprintf("%q is none of cancel, fail", req.OnTimeout)}
	}
	switch req.OnBusy {
	case "", QueueBehind, RejectBusy, Interrupt:
	default:
		return &InvalidError{"on_busy", fmt.Sprintf("%q is none of queue, reject, interrupt", req.OnBusy)}
	}
	for i := range req.Input {
		if role := req.Input[i].Role; role != model.RoleUser && role != model.RoleSystem {
			return &InvalidError{fmt.Sprintf("input[%d].role", i), fmt.Sprintf("%q is none of user, system: what a model or tool said is not input", role)}
		}
	}
	if req.FromStart && req.SnapshotID != "" {
		return &InvalidError{"snapshot_id", "a turn that goes on from nothing goes on from no snapshot"}
	}
	if err := checkID("id", req.ID); err != nil {
		return err
	}
	return checkMetadata(req.Metadata)
}

// interrupt cancels the live turns of a session that were made before one.
func (s *Service) interrupt(ctx context.Context, caller Caller, by *store.Turn) error {
	live, err := s.Store.Turns(ctx, store.TurnQuery{Scope: store.Everything, SessionID: by.SessionID, Statuses: liveStatuses, Page: store.Page{Limit: store.MaxPage}})
	if err != nil {
		return err
	}
	for _, t := range live.Turns {
		if t.ID == by.ID || t.CreatedAt.After(by.CreatedAt) {
			continue
		}
		if _, err := s.CancelTurn(ctx, caller, t.ID, "turn "+by.ID+" takes its place"); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// GetTurn returns a turn.
func (s *Service) GetTurn(ctx context.Context, caller Caller, id string) (*StoredTurn, error) {
	scope, err := caller.scope()
	if err != nil {
		return nil, err
	}
	t, err := s.Store.Turn(ctx, scope, id)
	if err != nil {
		return nil, named(err, "turn", id)
	}
	return s.view(t), nil
}

// TurnList is a page of turns.
type TurnList struct {
	Turns []*StoredTurn
	// Next is where the next page begins; empty when there is none.
	Next string
	// Total is how many turns there are on all pages, if the query asks for it.
	Total int
}

// ListTurns returns a page of the caller's turns, the newest first unless the
// query says otherwise. The scope of the query is set by the caller.
func (s *Service) ListTurns(ctx context.Context, caller Caller, q store.TurnQuery) (*TurnList, error) {
	var err error
	if q.Scope, err = caller.scope(); err != nil {
		return nil, err
	}
	page, err := s.Store.Turns(ctx, q)
	if err != nil {
		return nil, err
	}
	list := &TurnList{Turns: make([]*StoredTurn, len(page.Turns)), Next: page.Next, Total: page.Total}
	for i, t := range page.Turns {
		list.Turns[i] = s.view(t)
	}
	return list, nil
}

// CancelTurn ends a live turn, wherever it runs; a turn that has ended stays as
// it is. The turn that is returned is never live.
func (s *Service) CancelTurn(ctx context.Context, caller Caller, id, reason string) (*StoredTurn, error) {
	return s.end(ctx, caller, id, event.Termination{Type: event.Cancelled, Detail: reason})
}

// end ends a turn from outside.
func (s *Service) end(ctx context.Context, caller Caller, id string, why event.Termination) (*StoredTurn, error) {
	scope, err := caller.scope()
	if err != nil {
		return nil, err
	}
	status, now := statusOf(why), s.now()
	result, err := json.Marshal(TurnOutcome{Termination: why})
	if err != nil {
		return nil, err
	}
	last, err := event.NewRecord(event.Event{Time: now, TurnID: id, Data: &event.RunFinish{Status: why.Status(), Termination: why}})
	if err != nil {
		return nil, err
	}
	elsewhere := s.elsewhere(ctx, scope, id)
	t, err := s.Store.EndTurn(ctx, &store.EndTurn{Scope: scope, TurnID: id, Status: status, Result: result, Event: last, Now: now})
	if err != nil {
		return nil, named(err, "turn", id)
	}
	if w := s.worker(id); w != nil {
		w.stop(errEnded)
	}
	s.abort(id, elsewhere)
	s.hub.look(id)
	s.ring(id)
	return s.view(t), nil
}

// statusOf returns the state of a turn that ended so.
func statusOf(t event.Termination) store.Status {
	switch t.Status() {
	case event.StatusSucceeded:
		return store.Succeeded
	case event.StatusCanceled:
		return store.Canceled
	default:
		return store.Failed
	}
}

// DetachTurn lets a turn go on whatever becomes of the caller that waits for it.
// A turn that has ended stays as it is.
func (s *Service) DetachTurn(ctx context.Context, caller Caller, id string) (*StoredTurn, error) {
	scope, err := caller.scope()
	if err != nil {
		return nil, err
	}
	background := true
	t, err := s.Store.UpdateTurn(ctx, scope, id, store.TurnPatch{Background: &background, Now: s.now()})
	if err != nil {
		return nil, named(err, "turn", id)
	}
	return s.view(t), nil
}

// view returns a turn as callers see it.
func (s *Service) view(t *store.Turn) *StoredTurn {
	v := &StoredTurn{Turn: *t}
	if len(t.Result) > 0 {
		v.Outcome = new(TurnOutcome)
		if err := json.Unmarshal(t.Result, v.Outcome); err != nil {
			v.Outcome.Termination = event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: "the result of the turn cannot be read"}
		}
	}
	v.Expired = t.Status == store.Running && !t.HeartbeatAt.IsZero() && s.now().Sub(t.HeartbeatAt) > s.Expiry
	return v
}

func encodeMessages(messages []model.Message) ([][]byte, error) {
	list := make([][]byte, len(messages))
	for i := range messages {
		data, err := json.Marshal(messages[i])
		if err != nil {
			return nil, err
		}
		list[i] = data
	}
	return list, nil
}

func decodeMessages(list [][]byte) ([]model.Message, error) {
	messages := make([]model.Message, len(list))
	for i, data := range list {
		if err := json.Unmarshal(data, &messages[i]); err != nil {
			return nil, fmt.Errorf("decode message %d: %w", i+1, err)
		}
	}
	return slices.Clip(messages), nil
}
