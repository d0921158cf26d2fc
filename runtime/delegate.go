package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// actionDelegate is used for a delegate's interaction without an action.
const actionDelegate = "agent_delegate:suspended"

// Delegate runs a turn of another agent as part of this one: in the same revision and context,
// within the remaining budgets of this turn, and under the gates that limit its agent. A waiting
// delegate is resumed with the answers.
func (h *host) Delegate(ctx context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error) {
	next, err := h.childAncestry(&req)
	if err != nil {
		return nil, err
	}
	turn := Request{
		AgentID: req.AgentID, Input: []model.Message{model.User(req.Prompt)},
		Variables: h.variables, TenantVariables: h.tenantSource, Workspace: h.job.Workspace,
		Persistence: Persistence{KeepRequest: h.job.KeepRequest},
	}
	if h.delegated && req.Events != nil {
		turn.DelegateEvents = true
	} else {
		req.Events = nil
	}
	if err := resumeDelegate(&turn, req.Resumed); err != nil {
		return nil, err
	}
	child, err := h.runtime.prepareTurn(ctx, h.revision, &turn, req.Events, next)
	if err != nil {
		return nil, err
	}
	if child.where != h.runtime.local && req.Keep != nil {
		child.job.Checkpoint = child.keptBy(req.Keep)
	}
	result, err := (&Activation{host: child}).runToOutcome(ctx)
	if result == nil {
		return nil, err
	}
	h.delegates.setWaiting(req.CallID, nil)
	if result.State != nil {
		h.delegates.setWaiting(req.CallID, PeerTasks(result.State))
	}
	out := &tools.DelegateResult{Outcome: result.Outcome, TurnID: result.TurnID, Status: result.Status}
	out.Agents = child.agentUsages(result)
	if turn.State != nil {
		countSince(out, turn.State)
	}
	if result.State != nil {
		err = suspendDelegate(out, result)
		return out, err
	}
	return out, nil
}

// keptBy returns a checkpoint function for a turn at a peer, which passes the state to keep. A
// local delegate is not saved midway: the progress of its own calls since then would be unknown.
func (h *host) keptBy(keep func(context.Context, json.RawMessage) error) func(context.Context, *backend.State) error {
	return func(ctx context.Context, state *backend.State) error {
		h.completeState(state)
		kept, err := json.Marshal(suspendedDelegate{TurnID: h.turnID, SessionID: h.sessionID, State: state})
		if err != nil {
			return fmt.Errorf("keep the state of agent %s: %w", h.agent, err)
		}
		return keep(ctx, kept)
	}
}

// resumeDelegate makes a request continue a waiting turn.
func resumeDelegate(req *Request, resumed *tools.Resumed) error {
	if resumed == nil {
		return nil
	}
	var waiting suspendedDelegate
	err := json.Unmarshal(resumed.State, &waiting)
	if err == nil && waiting.State == nil {
		err = errors.New("the state is required")
	}
	if err != nil {
		return fmt.Errorf("resume agent %s: invalid state: %w", req.AgentID, err)
	}
	req.TurnID, req.SessionID, req.State, req.Answers = waiting.TurnID, waiting.SessionID, waiting.State, resumed.Answers
	return nil
}

// countSince subtracts a delegate's usage before it was resumed, which was counted when it
// started to wait.
func countSince(out *tools.DelegateResult, before *backend.State) {
	out.Usage.Sub(before.Stats.Usage)
	if out.Cost != nil {
		out.Cost = &event.Cost{Amount: out.Cost.Amount - before.Stats.Cost, Currency: out.Cost.Currency}
	}
	out.Agents = out.Agents.Since(before.AgentUsages())
}

// suspendDelegate passes on a delegate's interactions.
func suspendDelegate(out *tools.DelegateResult, result *Result) error {
	state, err := json.Marshal(suspendedDelegate{TurnID: result.TurnID, SessionID: result.SessionID, State: result.State})
	if err != nil {
		return fmt.Errorf("keep the state of agent %s: %w", result.Agent, err)
	}
	out.State = state
	for _, request := range result.Interactions {
		question := *request
		question.Action = cmp.Or(question.Action, actionDelegate)
		out.Questions = append(out.Questions, question)
	}
	return nil
}

// pathElement returns the call's name in the path of a delegate's events. A call that runs several
// agents has an element for each of them.
func pathElement(req *tools.DelegateRequest) string {
	if req.Number <= 1 {
		return req.CallID
	}
	return req.CallID + "#" + strconv.Itoa(req.Number)
}

// childAncestry returns the ancestry of a delegate's turn. It fails with a
// *DelegationError if the agent cannot be called from here.
func (h *host) childAncestry(req *tools.DelegateRequest) (*ancestry, error) {
	next := &ancestry{turnID: h.turnID, callID: req.CallID, meter: h.job.Meter, session: h.session.rootSession()}
	next.depth = h.depth
	if h.parent != nil {
		next.chain = h.parent.chain
		next.ceiling = slices.Clone(h.parent.ceiling)
	}
	next.chain = append(slices.Clone(next.chain), h.agent)
	next.path = append(slices.Clip(h.path), pathElement(req))
	if h.env != nil {
		next.ceiling = append(next.ceiling, h.env.Ceiling()...)
	}
	target := req.AgentID
	if agent, ok := h.revision.Set().Agent(target); ok {
		target = agent.ID
	}
	if slices.Contains(next.chain, target) {
		return nil, &DelegationError{Agent: target, Chain: next.chain}
	}
	if next.depth+len(next.chain) > h.runtime.depth {
		return nil, &DelegationError{Agent: target, Chain: next.chain, Depth: h.runtime.depth}
	}
	return next, nil
}
