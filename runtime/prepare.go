package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// prepareTurn resolves the dependencies of a turn. It fails if the turn cannot start.
func (r *AgentRuntime) prepareTurn(ctx context.Context, rev *registry.Revision, req *Request, sink event.Sink, parent *ancestry) (*host, error) {
	if len(req.Input) == 0 && !req.Idle {
		return nil, ErrNoInput
	}
	agentID := req.AgentID
	var state *backend.State
	switch {
	case req.State != nil:
		var err error
		if state, err = resumedState(req); err != nil {
			return nil, err
		}
		agentID = state.Agent
	case len(req.Answers) > 0:
		return nil, &interaction.UnknownError{Target: req.Answers[0].Target}
	}
	plan, err := r.resolveAgent(ctx, rev, agentID, req, parent != nil || state != nil || req.HandedOver)
	if err != nil {
		return nil, err
	}
	where, err := r.selectBackend(plan, req, parent)
	if err != nil {
		return nil, err
	}
	if parent == nil && req.Depth > r.depth {
		return nil, &DelegationError{Agent: plan.Agent.ID, Depth: r.depth}
	}
	h := r.newHost(plan, req, state, sink, parent)
	if h.where = where; req.Idle {
		h.where = idle{where}
	}
	h.setJob(plan, req, state)
	if state != nil {
		h.delegates.restoreFrom(state)
	}
	return h, nil
}

// resolveAgent resolves the agent and measures the duration. later is set if the agent may differ
// from the request's.
func (r *AgentRuntime) resolveAgent(ctx context.Context, rev *registry.Revision, agentID string, req *Request, later bool) (*resolve.Plan, error) {
	opts := resolve.Options{Overrides: req.Overrides, Variables: resolve.Variables{Fill: true, Values: req.Variables, Inherited: later, Tenant: req.TenantVariables}}
	if agentID != req.AgentID {
		opts.Overrides.ModelID = ""
	}
	find := func() (*resolve.Plan, error) {
		if req.Ephemeral != nil && agentID == req.Ephemeral.Agent.ID {
			return resolve.ResolveEphemeral(ctx, rev, req.Ephemeral, opts)
		}
		return resolve.Resolve(ctx, rev, agentID, opts)
	}
	if r.observer == nil {
		return find()
	}
	begun := time.Now()
	plan, err := find()
	failure := ""
	if err != nil {
		failure = "unresolved"
	}
	r.observer.Resolved(ctx, agentID, time.Since(begun), failure)
	return plan, err
}

// resumedState returns a copy of the request's state with the answers applied.
func resumedState(req *Request) (*backend.State, error) {
	state := req.State.Clone()
	if err := state.Check(); err != nil {
		return nil, err
	}
	for _, r := range req.Answers {
		if err := state.Answer(r); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// selectBackend returns the backend that runs the plan. It fails if the backend cannot meet the
// request's requirements.
func (r *AgentRuntime) selectBackend(plan *resolve.Plan, req *Request, parent *ancestry) (where backend.Backend, err error) {
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("get the backend profile of agent %s: %w", plan.Agent.ID, p)
	})
	where = r.local
	if plan.Remote != nil {
		where = plan.Remote
	}
	if err := checkProfile(plan.Agent.ID, where, requirementsOf(plan.Agent, req, parent)); err != nil {
		return nil, err
	}
	return where, nil
}

// checkResumable returns a *backend.MismatchError if the backend of a turn cannot
// take answers.
func (h *host) checkResumable(state *backend.State) error {
	need := backend.Requirements{Continuation: continuationLevel(state), Decisions: backend.DecisionsDurable}
	return checkProfile(h.agent, h.where, need)
}

// continuationLevel returns the continuation level that a state requires.
func continuationLevel(state *backend.State) backend.Level {
	switch {
	case state == nil:
		return backend.LevelNone
	case state.Remote != nil:
		return backend.ContinueRemote
	default:
		return backend.ContinueInProcess
	}
}

// checkProfile returns a *backend.MismatchError if a backend does not meet a turn's requirements.
func checkProfile(agentID string, where backend.Backend, need backend.Requirements) error {
	profile := where.Profile()
	if missing := profile.Check(&need); missing != nil {
		return &backend.MismatchError{Agent: agentID, Mismatches: missing}
	}
	return nil
}

// requirementsOf returns a turn's requirements for its backend, in every dimension of a profile.
func requirementsOf(agent *spec.Agent, req *Request, parent *ancestry) backend.Requirements {
	need := backend.Requirements{Continuation: continuationLevel(req.State)}
	if len(req.Answers) > 0 {
		need.Decisions = backend.DecisionsDurable
	}
	limits := req.Overrides
	limits.Budgets = nil // budgets are a separate dimension
	switch {
	case !limits.Empty():
		need.Overrides = backend.OverrideLimits
	case !req.Params.IsZero():
		need.Overrides = backend.OverrideParams
	}
	inherited := parent != nil && parent.meter != nil || req.State != nil && req.State.Budgets != nil
	if agent.Budgets != nil || inherited {
		need.Budgets = backend.BudgetsEnforced
	}
	if req.Checkpoint != nil {
		need.Persistence = backend.PersistCheckpoint
	}
	if len(req.History) > 0 {
		need.Transcript = backend.TranscriptFull
	}
	return need
}

// CheckRequest reports why a request cannot begin a turn in its revision, or in the current one if
// it names none. It ignores the input.
func (r *AgentRuntime) CheckRequest(ctx context.Context, req *Request) error {
	rev := req.Revision
	if rev == nil {
		rev = r.registry.Current()
	}
	plan, err := r.resolveAgent(ctx, rev, req.AgentID, req, req.HandedOver)
	if err != nil {
		return err
	}
	if req.Depth > r.depth {
		return &DelegationError{Agent: plan.Agent.ID, Depth: r.depth}
	}
	_, err = r.selectBackend(plan, req, nil)
	return err
}
