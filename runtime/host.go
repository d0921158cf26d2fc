package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
)

// host serves one running turn.
type host struct {
	runtime   *AgentRuntime
	revision  *registry.Revision
	sink      event.Sink
	turnID    string
	sessionID string
	agent     string
	parent    *ancestry
	env       *plugins.ExecutionEnv
	seq       uint64
	// emitting is set while the sink takes in an event, and stays set when it
	// panics: such a sink is given nothing more but the terminal event.
	emitting bool
}

var _ backend.Host = (*host)(nil)

func (r *AgentRuntime) newHost(plan *resolve.Plan, req *Request, sink event.Sink, parent *ancestry) *host {
	h := &host{
		runtime: r, revision: plan.Revision, sink: sink, parent: parent,
		turnID: req.TurnID, sessionID: req.SessionID, agent: plan.Agent.ID,
	}
	if h.sink == nil {
		h.sink = event.Discard
	}
	if h.turnID == "" {
		h.turnID = r.newID()
	}
	if h.sessionID == "" {
		h.sessionID = h.turnID
	}
	if plan.Local != nil {
		h.env = plan.Local.Env
	}
	return h
}

// job returns what the backend is handed.
func (h *host) job(plan *resolve.Plan, req *Request) *backend.Job {
	job := &backend.Job{
		TurnID: h.turnID, SessionID: h.sessionID, Agent: plan.Agent,
		History: req.History, Input: req.Input, Local: plan.Local, Params: req.Params,
	}
	if h.parent != nil {
		job.Ceiling = h.parent.ceiling
	}
	return job
}

// start emits the event that opens the turn.
func (h *host) start() {
	opening := &event.RunStart{AgentID: h.agent, Revision: h.revision.Number()}
	if h.parent != nil {
		opening.ParentTurnID, opening.ParentCallID = h.parent.turnID, h.parent.callID
	}
	h.emit(opening)
}

// Emit appends an event to the turn's log. The events that open and end the
// turn are the runtime's own, so a backend's are dropped, and so is nil.
func (h *host) Emit(data event.Data) {
	switch data.(type) {
	case nil, *event.RunStart, *event.RunFinish:
	default:
		h.emit(data)
	}
}

func (h *host) emit(data event.Data) {
	if h.emitting {
		return
	}
	h.emitting = true
	h.seq++
	h.sink.Emit(event.Event{Seq: h.seq, Time: time.Now(), TurnID: h.turnID, SessionID: h.sessionID, Data: data})
	h.emitting = false
}

// last emits the terminal event. A sink that panics cannot keep the turn from
// ending.
func (h *host) last(done *event.RunFinish) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = backend.Panicked(v)
		}
	}()
	h.emitting = false
	h.emit(done)
	return nil
}

// DelegationError says that a delegate was not started.
type DelegationError struct {
	// Agent is the agent that was to be called.
	Agent string
	// Chain are the agents whose turns led there, the root first.
	Chain []string
	// Depth is the limit that was reached; 0 when the agent already is part of
	// the chain.
	Depth int
}

// Error names the agent and the chain.
func (e *DelegationError) Error() string {
	chain := strings.Join(e.Chain, " → ")
	if e.Depth > 0 {
		return fmt.Sprintf("agent %s was not called: delegates may be nested %d deep (%s)", e.Agent, e.Depth, chain)
	}
	return fmt.Sprintf("agent %s was not called: it is waiting for this call itself (%s → %s)", e.Agent, chain, e.Agent)
}

// Delegate runs a turn of another agent as part of this one: in the same
// revision, under the same context, and under whatever this turn's own agent is
// held to.
func (h *host) Delegate(ctx context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error) {
	next, err := h.descend(&req)
	if err != nil {
		return nil, err
	}
	result, err := h.runtime.run(ctx, h.revision, &Request{
		AgentID: req.AgentID, Input: []model.Message{model.User(req.Prompt)},
	}, nil, next)
	if result == nil {
		return nil, err
	}
	return &tools.DelegateResult{
		TurnID: result.TurnID, Status: result.Status, Termination: result.Termination,
		Response: result.Response, Steps: result.Steps, Usage: result.Usage,
	}, nil
}

// descend checks that another agent may be called from here, and returns where
// its turn will come from.
func (h *host) descend(req *tools.DelegateRequest) (*ancestry, error) {
	next := &ancestry{turnID: h.turnID, callID: req.CallID}
	if h.parent != nil {
		next.chain = h.parent.chain
		next.ceiling = slices.Clone(h.parent.ceiling)
	}
	next.chain = append(slices.Clone(next.chain), h.agent)
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
	if len(next.chain) > h.runtime.depth {
		return nil, &DelegationError{Agent: target, Chain: next.chain, Depth: h.runtime.depth}
	}
	return next, nil
}
