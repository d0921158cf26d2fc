package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
)

// CreateTurn stores a turn and returns immediately; a worker in any process runs it. On error there
// is no turn. The errors are an *InvalidError, a *NotFoundError, a *store.StateError for an
// archived session, a *store.BusyError, a *store.ExistsError, a *store.KeyConflictError, a
// *backend.CapabilityError for a missing capability of a hosted provider, and the errors of
// resolving the agent.
func (s *Turns) CreateTurn(ctx context.Context, caller Caller, req CreateTurn) (*Turn, error) {
	if err := checkTurn(&req); err != nil {
		return nil, err
	}
	sees := func(id string) (bool, error) { return s.seesTurnID(ctx, caller, id) }
	return createOwn(caller, req.ID, sees, func(id string) (*Turn, error) {
		named := req
		named.ID = id
		return s.createNamedTurn(ctx, caller, named)
	})
}

// createNamedTurn is CreateTurn with an id that may be marked.
func (s *Turns) createNamedTurn(ctx context.Context, caller Caller, req CreateTurn) (*Turn, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	session, err := s.readSession(ctx, caller, req.SessionID)
	if err != nil {
		return nil, err
	}
	agent, err := s.agentOf(ctx, session, &req)
	if err != nil {
		return nil, err
	}
	if err := s.starts.checkHooksRan(ctx, session, agent); err != nil {
		return nil, err
	}
	if agent != spec.EphemeralAgent || req.Ephemeral == nil {
		if err := checkAgent(caller, agent); err != nil {
			return nil, err
		}
	}
	req.rights = rightsOf(caller)
	if req.Published != "" {
		if req.Revision, err = s.pinPublished(ctx, session.Owner.Tenant, req.Published, agent); err != nil {
			return nil, err
		}
	}
	n, err := s.newTurn(ctx, scope, session, agent, &req)
	if err != nil {
		return nil, hideNearest(caller, err)
	}
	made, err := s.storeTurn(ctx, n)
	if err != nil {
		return nil, nameNotFound(err, "session", req.SessionID)
	}
	if req.OnBusy == Interrupt && made.ID == n.Turn.ID {
		if err := s.interruptOlder(ctx, caller, made); err != nil {
			return nil, err
		}
	}
	return s.turnView(made), nil
}

// storeTurn stores a turn and starts it if this process has room.
func (s *Turns) storeTurn(ctx context.Context, n *store.NewTurn) (*store.Turn, error) {
	made, begun, err := s.pool.Start(ctx, n)
	if err != nil || begun {
		return made, err
	}
	if made == nil {
		if made, err = s.settings.Store.CreateTurn(ctx, n); err != nil {
			return nil, err
		}
	}
	if h, ok := s.settings.Dispatcher.(dispatch.Hinter); ok && made.Status == store.Pending && made.Admitted {
		h.Hint(made.ID)
	}
	return made, nil
}

// newTurn returns the requested turn.
func (s *Turns) newTurn(ctx context.Context, scope store.Scope, session *store.Session, agent string, req *CreateTurn) (*store.NewTurn, error) {
	if len(req.Custom) > 0 && s.settings.StateTransform != nil {
		return nil, &InvalidError{"custom", "callers do not see the whole state, so they cannot replace it"}
	}
	same := *req
	same.Limits, same.Deadline = nil, time.Time{} // a later repetition has less left
	same.ID = event.ShownID(same.ID)
	key, err := keyOf(req.IdempotencyKey, req.IdempotencyBody, &same)
	if err != nil {
		return nil, err
	}
	before := contextOf(session)
	overrides, err := s.checkStart(ctx, session, agent, req, before)
	if err != nil {
		return nil, err
	}
	if err := s.checkSnapshot(ctx, scope, session, req.SnapshotID); err != nil {
		return nil, err
	}
	input, err := work.EncodeMessages(slices.Concat(req.Before, req.Input))
	if err != nil {
		return nil, &InvalidError{"input", err.Error()}
	}
	id := req.ID
	if id == "" {
		id = s.settings.NewID()
	}
	asked := *req
	asked.Overrides = overrides
	request, err := s.encodeRequest(ctx, id, asked, session)
	if err != nil {
		return nil, err
	}
	return &store.NewTurn{Key: key, Input: input, Reject: req.OnBusy == RejectBusy, Turn: store.Turn{
		ID: id, SessionID: session.ID, Owner: session.Owner, AgentID: agent, Request: request, Metadata: req.Metadata,
		Background: req.Background, SnapshotID: s.settings.NewID(), ParentSnapshotID: req.SnapshotID, FromStart: req.FromStart,
		CreatedAt: s.now(), NotBefore: req.NotBefore.UTC().Truncate(time.Microsecond),
	}}, nil
}

// agentOf returns the id of the agent that a turn is created for.
func (s *Turns) agentOf(ctx context.Context, session *store.Session, req *CreateTurn) (string, error) {
	if req.Ephemeral != nil {
		agent := req.Ephemeral.Agent.ID
		if req.Addressed {
			agent = cmp.Or(req.AgentID, agent)
		}
		return agent, s.checkEphemeral(req.Ephemeral)
	}
	if agent := cmp.Or(req.AgentID, session.AgentID); agent != "" {
		return agent, nil
	}
	if agent, err := s.lastAddressed(ctx, session); agent != "" || err != nil {
		return agent, err
	}
	return "", &InvalidError{"agent_id", "neither the turn nor its session names an agent"}
}

// checkStart returns the turn's overrides, after checking that the turn can begin with them in the
// revision that it names, or else in the tenant's current one.
func (s *Turns) checkStart(ctx context.Context, session *store.Session, agent string, req *CreateTurn, before *model.Message) (resolve.Overrides, error) {
	overrides, tenant, madeFor := req.Overrides, session.Owner.Tenant, agent
	if s.settings.Runtime == nil {
		return overrides, nil
	}
	judged := agent
	if req.Ephemeral != nil {
		judged = ""
	}
	rev, err := s.acquirePinned(ctx, tenant, req.Revision, judged)
	if err != nil {
		return overrides, err
	}
	defer rev.Release()
	if agent, err = s.expectAgent(ctx, session, madeFor, req); err != nil {
		return overrides, err
	}
	if _, ok := rev.Set().Agent(agent); !ok {
		agent = madeFor
	}
	if err := checkModel(rev.Set(), agent, req); err != nil {
		return overrides, err
	}
	if agent == madeFor || !req.Addressed { // else the tools are for another agent and only narrow
		if err := checkTools(ctx, rev, agent, req); err != nil {
			return overrides, err
		}
	}
	if err := checkHosted(ctx, rev.Set(), agent, req); err != nil {
		return overrides, err
	}
	if overrides.Budgets, err = s.turnBudgets(rev.Set(), agent, req); err != nil {
		return overrides, err
	}
	asked := &runtime.Request{
		Revision: rev, AgentID: agent, HandedOver: agent != madeFor, Params: req.Params, Overrides: overrides, Variables: req.Variables, Depth: req.Depth, History: slices.Concat(contextMessages(before), req.Before),
		TenantVariables: s.variables.VariablesOf(tenant),
		Persistence:     runtime.Persistence{Checkpoint: keepNothing},
	}
	if req.Ephemeral != nil && (agent == madeFor || agent == req.Ephemeral.Agent.ID) {
		asked.Ephemeral = &resolve.Ephemeral{Agent: &req.Ephemeral.Agent, Call: req.Ephemeral.Call}
	}
	if req.Revision != "" && req.Revision != rev.Hash() {
		return overrides, nil // checked when the turn begins, in that revision
	}
	err = s.settings.Runtime.CheckRequest(ctx, asked)
	if cost, ok := errors.AsType[*resolve.UnmeasuredCostError](err); ok {
		return overrides, &InvalidError{"budgets.max_cost", "cannot be measured: " + strings.Join(cost.Reasons, "; ")}
	}
	if variables, ok := errors.AsType[*resolve.VariablesError](err); ok && variables.Err == nil {
		return overrides, &InvalidError{"variables", strings.Join(variables.Problems, "; ")}
	}
	if form, ok := errors.AsType[diag.Diagnostic](err); ok && overrides.Output != nil && form.Code == diag.InvalidSchema && form.Path == "output_schema.schema" {
		return overrides, &InvalidError{"output_schema", string(form.Code) + ": " + form.Message}
	}
	return overrides, err
}

// checkModel returns an error if a turn cannot use the requested model.
func checkModel(set *registry.Set, agentID string, req *CreateTurn) error {
	id := req.Overrides.ModelID
	if id == "" {
		return nil
	}
	agent, ok := set.Agent(agentID)
	if req.Ephemeral != nil {
		agent, ok = &req.Ephemeral.Agent, true
	}
	switch {
	case ok && agent.Hosted():
		return nil // its provider knows the names
	case ok && !agent.Local():
		return &InvalidError{"model_id", fmt.Sprintf("agent %s runs elsewhere, which alone decides about its model", agentID)}
	}
	if _, isModel := set.Models.Get(id); isModel {
		return nil
	}
	if _, isPool := set.Pools.Get(id); isPool {
		return nil
	}
	problem := fmt.Sprintf("model %q is not available", clip.Text(id))
	if near, ok := nearest.Of(id, slices.Concat(set.Models.IDs(), set.Pools.IDs())); ok {
		problem += fmt.Sprintf("; did you mean %q?", near)
	}
	return &InvalidError{"model_id", problem}
}

// checkTools returns an error if a turn names a tool that its agent does not offer to the model.
func checkTools(ctx context.Context, rev *registry.Revision, agentID string, req *CreateTurn) error {
	agent, ok := rev.Set().Agent(agentID)
	if !ok || len(req.Overrides.Tools) == 0 || req.Ephemeral != nil || !agent.UsesTools() || req.Revision != "" && req.Revision != rev.Hash() {
		return nil
	}
	explained, err := resolve.Explain(ctx, rev, agentID)
	if err != nil {
		return err
	}
	var offered []string
	for i := range explained.Tools {
		if choice := &explained.Tools[i]; choice.Offered() {
			offered = append(offered, choice.ID)
		}
	}
	for _, id := range req.Overrides.Tools {
		if slices.Contains(offered, id) {
			continue
		}
		problem := fmt.Sprintf("agent %s has no tool %q", agentID, clip.Text(id))
		if near, ok := nearest.Of(id, offered); ok {
			problem += fmt.Sprintf("; did you mean %q?", near)
		}
		return &InvalidError{"tool_ids", problem}
	}
	return nil
}

// keepNothing is the checkpoint of a stored turn that has no worker yet.
func keepNothing(context.Context, *backend.State) error { return nil }

// checkSnapshot returns an error if the session does not have the snapshot to continue from.
func (s *Turns) checkSnapshot(ctx context.Context, scope store.Scope, session *store.Session, id string) error {
	if id == "" {
		return nil
	}
	snapshot, err := s.settings.Store.Snapshot(ctx, scope, id)
	if err == nil && snapshot.SessionID != session.ID {
		err = store.ErrNotFound
	}
	return nameNotFound(err, "snapshot", id)
}

// turnBudgets returns the budgets of a turn: the request's, or else the agent's, within the
// limits and deadline of the request.
func (s *Turns) turnBudgets(set *registry.Set, agentID string, req *CreateTurn) (*spec.Budgets, error) {
	budgets := req.Overrides.Budgets
	if req.Limits == nil && req.Deadline.IsZero() {
		return budgets, nil
	}
	if budgets == nil && req.Ephemeral != nil {
		budgets = req.Ephemeral.Agent.Budgets
	} else if agent, ok := set.Agent(agentID); ok && budgets == nil {
		effective, _ := set.Defaults.Apply(agent)
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
		return nil, &InvalidError{"deadline", "already expired"}
	}
	return budgets.Within(&spec.Budgets{MaxDuration: new(spec.Duration(left))}), nil
}

// interruptOlder cancels the live turns of a session that were created before a given turn.
func (s *Turns) interruptOlder(ctx context.Context, caller Caller, by *store.Turn) error {
	live, err := s.settings.Store.Turns(ctx, store.TurnQuery{Scope: store.Everything, SessionID: by.SessionID, Statuses: liveStatuses, Page: store.Page{Limit: store.MaxPage}})
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
