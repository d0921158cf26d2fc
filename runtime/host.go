package runtime

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// host serves one running turn.
type host struct {
	runtime *AgentRuntime
	where   backend.Backend
	job     backend.Job
	binding
	identity
	speaker
	parent *ancestry
	// variables are the turn's variables for its agents' prompts.
	variables json.RawMessage
	// depth is the number of agents, in other runtimes, that led to the root turn.
	depth int
	// session is the turn's view of its session.
	session sessionState
	// journal records calls in the middle of a step; nil if none is kept.
	journal backend.Journaler
	// watch receives the turn's interactions; nil if they get no answers.
	watch func(*event.InteractionRequest)
	// delegates are the delegates waiting at peers.
	delegates delegates
	// overdue is when a turn whose context has ended is abandoned; zero until the
	// context ends.
	overdue time.Time
	emission
}

// binding is the revision that a turn resolves in.
type binding struct {
	revision *registry.Revision
	// before is the hash of the revision that the turn last ran in; empty for a turn that begins,
	// and for a delegate.
	before string
}

// identity holds a turn's ids and its owner.
type identity struct {
	turnID    string
	sessionID string
	// tenant owns the turn; empty for delegates and turns that are not stored.
	tenant string
	// tenantSource has the tenant's variables; nil for none.
	tenantSource tools.TenantSource
}

// speaker is the agent that has the conversation.
type speaker struct {
	// agent is its id, and env its plugins.
	agent  string
	env    *execution.Env
	active activeAgent
}

// emission emits the events of a turn.
type emission struct {
	sink event.Sink
	// state is the number of the latest event, in steps of oneEvent, with the gate in the lower
	// bits. The gate guards the sink: one goroutine at a time may emit, and none after the sink
	// panicked or the turn was abandoned.
	state atomic.Uint64
	// served is the first model that answered; nil before that.
	served atomic.Pointer[string]
	// clock is when an event of this moment was emitted.
	clock time.Time
	// path is the path of a delegate's events. delegated is set if the sink accepts delegates'
	// events.
	path      []string
	delegated bool
}

// activeAgent is the agent that took over the conversation, if one did.
type activeAgent struct {
	agent *spec.Agent
	env   *backend.ExecutionEnv
}

// The bits of emission.state. The gate is open when neither of its bits is set.
const (
	gateBusy uint64 = 1 << iota
	gateShut
	oneEvent
)

// latestSeq returns the number of the latest event.
func (e *emission) latestSeq() uint64 { return e.state.Load() / oneEvent }

// continueAfter makes the next event follow the one numbered seq.
func (e *emission) continueAfter(seq uint64) { e.state.Store(seq * oneEvent) }

// shutGate blocks all further events.
func (e *emission) shutGate() { e.state.Or(gateShut) }

// passGate returns the number of the next event, and the state of the gate while it is
// emitted; 0 if the gate is not open.
func (e *emission) passGate() (seq, busy uint64) {
	for {
		before := e.state.Load()
		if before&(gateBusy|gateShut) != 0 {
			return 0, 0
		}
		if busy = before + oneEvent | gateBusy; e.state.CompareAndSwap(before, busy) {
			return busy / oneEvent, busy
		}
	}
}

var _ backend.Host = (*host)(nil)

func (r *AgentRuntime) newHost(plan *resolve.Plan, req *Request, state *backend.State, sink event.Sink, parent *ancestry) *host {
	h := &host{
		runtime: r, binding: binding{revision: plan.Revision}, parent: parent, variables: req.Variables, journal: req.Journal,
		identity: identity{turnID: req.TurnID, sessionID: req.SessionID, tenant: req.Tenant, tenantSource: req.TenantVariables}, speaker: speaker{agent: plan.Agent.ID},
		emission: emission{sink: sink, delegated: req.DelegateEvents},
	}
	h.session.beginTurn(req, state, parent, r.newID)
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
	h.depth = req.Depth
	if parent == nil {
		h.before = req.BegunIn
		if state != nil && state.Revision.Hash != "" {
			h.before = state.Revision.Hash
		}
	}
	if parent != nil {
		h.depth, h.path = parent.depth, parent.path
	}
	return h
}

// setJob sets the job for the backend.
func (h *host) setJob(plan *resolve.Plan, req *Request, state *backend.State) {
	job := &h.job
	*job = backend.Job{
		TurnID: h.turnID, SessionID: h.sessionID, Agent: plan.Agent,
		History: req.History, Input: req.Input, Local: plan.Local, Params: req.Params,
		Session: req.Session, Workspace: req.Workspace, State: state, Repeats: backend.Repeats{Indeterminate: req.Indeterminate},
		Limits: backend.Limits{Depth: h.depth, MaxDepth: h.runtime.depth},
	}
	if e := req.Ephemeral; e != nil && e.Call != nil {
		job.CallKeys = e.Call.Key
	}
	job.KeepRequest = req.KeepRequest
	var above *backend.Meter
	if h.parent != nil {
		job.Ceiling, above = h.parent.ceiling, h.parent.meter
		job.Depth += len(h.parent.chain)
	}
	if state == nil {
		job.Meter = backend.NewMeter(above, budgetsOf(plan), backend.Spent{})
	} else {
		job.Meter = backend.NewMeter(above, state.Budgets, state.Spent)
	}
	if keep := req.Checkpoint; keep != nil {
		job.Checkpoint = func(ctx context.Context, state *backend.State) error {
			h.completeState(state)
			return keep(ctx, state)
		}
	}
	if state != nil {
		h.continueAfter(state.Seq)
	}
}

// budgetsOf returns the budgets of an agent. A cost limit without a currency gets the currency of
// the prices, so that it is unambiguous for a peer.
func budgetsOf(plan *resolve.Plan) *spec.Budgets {
	b := plan.Agent.Budgets
	if b == nil || b.MaxCost == nil || b.Currency != "" || plan.Local == nil {
		return b
	}
	currency := ""
	for _, price := range plan.Local.Pricing {
		if currency != "" && currency != price.CurrencyCode() {
			return b
		}
		currency = price.CurrencyCode()
	}
	named := *b
	named.Currency = currency
	return &named
}

// completeState adds the state fields that the loop does not know.
func (h *host) completeState(state *backend.State) {
	state.Seq = h.latestSeq()
	if h.parent == nil {
		state.Revision = backend.StateRevision{Number: h.revision.Number(), Hash: h.revision.Hash()}
	}
	state.SessionState = h.session.handOut()
}

// emitStart emits the event that opens or resumes the turn.
func (h *host) emitStart() {
	opening := &event.RunStart{AgentID: h.agent, Revision: h.revision.Number(), Resumed: h.job.State != nil}
	if h.parent != nil {
		opening.DelegateTurnID, opening.ParentTurnID, opening.ParentCallID = h.turnID, h.parent.turnID, h.parent.callID
	}
	h.emit(opening)
	if h.before != "" && h.before != h.revision.Hash() {
		h.emit(&event.RevisionChanged{From: h.before, To: h.revision.Hash()})
		h.before = "" // resuming here does not change it again
	}
}

// continueFrom prepares the turn to continue from a state.
func (h *host) continueFrom(state *backend.State) {
	h.completeState(state)
	h.job.State = state
	h.job.Meter = h.job.Meter.Rest(state.Spent)
	if h.agent != h.job.Agent.ID {
		h.job.Agent, h.job.Local = h.active.agent, h.active.env
	}
}

// Emit appends an event to the turn's log. It drops nil, and the events that open, end or suspend
// the turn, which the runtime emits itself.
func (h *host) Emit(data event.Data) {
	switch d := data.(type) {
	case nil, *event.RunStart, *event.RunWaiting, *event.RunFinish:
		return
	case *event.InteractionRequest:
		if h.watch != nil {
			h.watch(d)
		}
	case *event.InferenceComplete:
		h.served.CompareAndSwap(nil, &d.ModelID)
	}
	h.emit(data)
}

// agentUsages returns the usage of each agent. It always has an entry.
func (h *host) agentUsages(r *Result) event.AgentUsages {
	if len(r.Agents) > 0 {
		return r.Agents
	}
	return event.AgentUsages{{Agent: r.Agent, ModelID: h.firstModel(), ToolCalls: len(r.Journal), Usage: r.Usage, Cost: r.Cost}}
}

// firstModel returns the first model that the turn called; empty for agents that run elsewhere.
func (h *host) firstModel() string {
	switch served := h.served.Load(); {
	case h.job.State != nil && h.job.State.Stats.ModelID != "":
		return h.job.State.Stats.ModelID
	case served != nil:
		return *served
	case h.job.Local != nil:
		return h.job.Local.ModelID
	default:
		return ""
	}
}

func (h *host) emit(data event.Data) {
	seq, busy := h.passGate()
	if busy == 0 {
		return
	}
	h.sink.Emit(event.Event{Seq: seq, Time: h.readClock(), TurnID: h.turnID, SessionID: h.sessionID, Path: h.path, Data: data})
	h.state.CompareAndSwap(busy, busy&^gateBusy) // fails if the gate was shut meanwhile
}

// EmitDelegated appends an event of a delegate to the turn's log.
func (h *host) EmitDelegated(ev *event.Event) {
	seq, busy := h.passGate()
	if busy == 0 {
		return
	}
	h.sink.Emit(event.Event{Seq: seq, Time: ev.Time, TurnID: h.turnID, SessionID: h.sessionID, Path: ev.Path, Data: ev.Data})
	h.state.CompareAndSwap(busy, busy&^gateBusy)
}

// moment is how long event times are derived from an earlier one.
const moment = time.Second

// readClock returns the time of an event. Events come in bursts: within a moment their time is
// derived from the first one's, at half the cost of reading the time of day.
func (e *emission) readClock() time.Time {
	if since := time.Since(e.clock); since < moment {
		return e.clock.Add(since)
	}
	e.clock = time.Now()
	return e.clock
}

// emitLast emits the last event of an activation. A panicking sink cannot stop the turn from
// ending.
func (h *host) emitLast(data event.Data) (err error) {
	defer panics.Recover(&err)
	h.shutGate()
	h.sink.Emit(event.Event{Seq: h.state.Add(oneEvent) / oneEvent, Time: time.Now(), TurnID: h.turnID, SessionID: h.sessionID, Path: h.path, Data: data})
	return nil
}

// Handoff resolves the agent that takes over the conversation. It must run on the
// local loop, which has the conversation.
func (h *host) Handoff(ctx context.Context, agentID string) (*spec.Agent, *backend.ExecutionEnv, error) {
	plan, err := resolve.Resolve(ctx, h.revision, agentID, resolve.Options{
		LocalOnly: true, Variables: resolve.Variables{Fill: true, Values: h.variables, Inherited: true, Tenant: h.tenantSource},
	})
	if err != nil {
		return nil, nil, err
	}
	h.agent, h.env = plan.Agent.ID, plan.Local.Env
	h.active = activeAgent{plan.Agent, plan.Local}
	return plan.Agent, plan.Local, nil
}

// Session returns the turn's session.
func (h *host) Session() tools.Session { return &h.session }

// FlushSession emits the session's changes.
func (h *host) FlushSession() {
	changes := h.session.takeChanges()
	for i := range changes {
		if data := h.session.changeEvent(&changes[i]); data != nil {
			h.emit(data)
		}
	}
}

// journalingHost serves a turn whose journal is kept.
type journalingHost struct{ *host }

var _ backend.Journaler = journalingHost{}

// Begin passes on the turn's state before tool calls.
func (h journalingHost) Begin(ctx context.Context, state *backend.State) error {
	h.completeState(state)
	return h.journal.Begin(ctx, state)
}

// Keep passes on the state from which a running call can be resumed.
func (h journalingHost) Keep(ctx context.Context, entry *backend.JournalEntry) error {
	return h.journal.Keep(ctx, entry)
}

// Settle passes on the result of a call and the session's changes.
func (h journalingHost) Settle(entry *backend.JournalEntry, result *model.ToolResult) {
	if session := h.session.changedState(); session != nil {
		after := backend.Aftermath{}
		if entry.After != nil {
			after = *entry.After
		}
		after.Session, entry.After = session, &after
	}
	h.journal.Settle(entry, result)
}

// backendHost returns the host for the backend, with a journal if one is kept.
func (h *host) backendHost() backend.Host {
	if h.journal == nil {
		return h
	}
	return journalingHost{h}
}
