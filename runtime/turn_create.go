package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
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
	// Before is what was said ahead of the input and is not known to the session:
	// texts of the user, the system and the assistant. With the input it becomes
	// part of the session.
	Before []model.Message `json:",omitempty"`
	// TextHistory shows the model only the texts of what was said in the session
	// before, as model.Spoken returns them. The session keeps everything.
	TextHistory bool `json:",omitempty"`
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
	// IdempotencyBody is what the key stands for, as that of CreateSession.
	IdempotencyBody json.RawMessage `json:"-"`
}

// turnRequest is what a stored turn was asked for.
type turnRequest struct {
	// Input is how many of the turn's messages are its input, with the Before ones
	// ahead of it.
	Input       int  `json:"input"`
	Before      int  `json:"before,omitempty"`
	TextHistory bool `json:"text_history,omitempty"`

	Params    model.Params      `json:"params,omitzero"`
	Overrides resolve.Overrides `json:"overrides,omitzero"`
	Ephemeral *Ephemeral        `json:"ephemeral,omitempty"`
	// SealedTools are the tools of Ephemeral, where there is a key to encrypt them
	// with.
	SealedTools json.RawMessage `json:"sealed,omitempty"`
	Depth       int             `json:"depth,omitempty"`
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
	session, err := s.readSession(ctx, caller, req.SessionID)
	if err != nil {
		return nil, err
	}
	agent, err := s.agentOf(session, &req)
	if err != nil {
		return nil, err
	}
	if agent != spec.EphemeralAgent || req.Ephemeral == nil {
		if err := checkAgent(caller, agent); err != nil {
			return nil, err
		}
	}
	n, err := s.newTurn(ctx, scope, session, agent, &req)
	if err != nil {
		return nil, hideNearest(caller, err)
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
func (s *Service) newTurn(ctx context.Context, scope store.Scope, session *store.Session, agent string, req *CreateTurn) (*store.NewTurn, error) {
	same := *req
	same.Limits, same.Deadline = nil, time.Time{} // a repetition comes later, when less is left
	key, err := keyOf(req.IdempotencyKey, req.IdempotencyBody, &same)
	if err != nil {
		return nil, err
	}
	overrides, err := s.startable(ctx, agent, req)
	if err != nil {
		return nil, err
	}
	if err := s.checkSnapshot(ctx, scope, session, req.SnapshotID); err != nil {
		return nil, err
	}
	input, err := encodeMessages(slices.Concat(req.Before, req.Input))
	if err != nil {
		return nil, &InvalidError{"input", err.Error()}
	}
	trace := make(http.Header)
	telemetry.Inject(ctx, trace)
	id := req.ID
	if id == "" {
		id = s.NewID()
	}
	ephemeral, tools, err := s.sealTools(id, req.Ephemeral)
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(turnRequest{
		Input: len(input), Before: len(req.Before), TextHistory: req.TextHistory, Params: req.Params, Overrides: overrides,
		Ephemeral: ephemeral, SealedTools: tools, Depth: req.Depth, Trace: trace,
		InteractionTimeout: spec.Duration(req.InteractionTimeout), OnTimeout: req.OnTimeout,
	})
	if err != nil {
		return nil, &InvalidError{"overrides", err.Error()}
	}
	return &store.NewTurn{Key: key, Input: input, Reject: req.OnBusy == RejectBusy, Turn: store.Turn{
		ID: id, SessionID: session.ID, Owner: session.Owner, AgentID: agent, Request: request, Metadata: req.Metadata,
		Background: req.Background, SnapshotID: s.NewID(), ParentSnapshotID: req.SnapshotID, FromStart: req.FromStart,
		CreatedAt: s.now(), NotBefore: req.NotBefore.UTC().Truncate(time.Microsecond),
	}}, nil
}

// agentOf returns the id of the agent that works on a turn.
func (s *Service) agentOf(session *store.Session, req *CreateTurn) (string, error) {
	if req.Ephemeral != nil {
		return req.Ephemeral.Agent.ID, s.checkEphemeral(req.Ephemeral)
	}
	if agent := cmp.Or(req.AgentID, session.AgentID); agent != "" {
		return agent, nil
	}
	return "", &InvalidError{"agent_id", "neither the turn nor its session names an agent"}
}

// startable returns the overrides that a turn will have, if it can begin with
// them in the current revision.
func (s *Service) startable(ctx context.Context, agent string, req *CreateTurn) (resolve.Overrides, error) {
	overrides := req.Overrides
	if s.Runtime == nil {
		return overrides, nil
	}
	var err error
	if overrides.Budgets, err = s.limits(agent, req); err != nil {
		return overrides, err
	}
	asked := &Request{AgentID: agent, Params: req.Params, Overrides: overrides, Depth: req.Depth, History: req.Before, Checkpoint: kept}
	if req.Ephemeral != nil {
		asked.Ephemeral = &resolve.Ephemeral{Agent: &req.Ephemeral.Agent}
	}
	err = s.Runtime.startable(ctx, asked)
	if cost, ok := errors.AsType[*resolve.UnmeasuredCostError](err); ok {
		return overrides, &InvalidError{"budgets.max_cost", "it cannot be measured: " + strings.Join(cost.Reasons, "; ")}
	}
	return overrides, err
}

// kept stands for the checkpoint of a turn that is stored, before a worker has it.
func kept(context.Context, *backend.State) error { return nil }

// checkSnapshot reports that a session has no such snapshot to go on from.
func (s *Service) checkSnapshot(ctx context.Context, scope store.Scope, session *store.Session, id string) error {
	if id == "" {
		return nil
	}
	snapshot, err := s.Store.Snapshot(ctx, scope, id)
	if err == nil && snapshot.SessionID != session.ID {
		err = store.ErrNotFound
	}
	return named(err, "snapshot", id)
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
		effective, _ := s.Runtime.Revision().Set().Defaults.Apply(agent)
		budgets = effective.Budgets
	}
	if b, l := budgets, req.Limits; b != nil && l != nil && b.MaxCost != nil && l.MaxCost != nil && b.Currency != l.Currency && b.Currency != "" && l.Currency != "" {
		return nil, &InvalidError{"limits.currency", fmt.Sprintf("the agent's own limit of cost is in %s, not in %s", b.Currency, l.Currency)}
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
	for i := range req.Before {
		if err := checkBefore(&req.Before[i]); err != nil {
			return &InvalidError{fmt.Sprintf("before[%d]", i), err.Error()}
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

// checkBefore judges a message that was said ahead of the input.
func checkBefore(m *model.Message) error {
	if m.Role != model.RoleUser && m.Role != model.RoleSystem && m.Role != model.RoleAssistant {
		return fmt.Errorf("its role is %q, which is none of user, system, assistant", m.Role)
	}
	for i := range m.Parts {
		if m.Parts[i].Type != model.PartText {
			return errors.New("it is more than text")
		}
	}
	return nil
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
