package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
)

// Disposition is the outcome of one activation of a turn.
type Disposition uint8

// The dispositions.
//
//	Prepare ─▶ Observe ─▶ Execute ─┬─▶ Ended ───▶ Finish, with the terminal event
//	                         ▲     ├─▶ Suspended ─▶ Suspend, or Finish if nobody answers
//	                         │     │       │
//	                         └─────┼─ resume, in the process that has the answers
//	                               ├─▶ Yielded ──▶ Leave
//	                               └─▶ Lost ─────▶ Leave
const (
	// Ended is a turn that succeeded, failed or was canceled.
	Ended Disposition = iota + 1
	// Suspended is a turn that waits for answers.
	Suspended
	// Yielded is a turn that was stopped between two steps, by its Checkpoint.
	Yielded
	// Lost is a turn whose context ended with backend.ErrReleased: the next
	// activation repeats the work done since its last checkpoint.
	Lost
)

// Activation works on one turn, from its start or a saved state to the next outcome. Run, Start and
// package service all use it. It is used by one goroutine.
type Activation struct {
	host  *host
	span  *telemetry.TurnSpan
	begun time.Time
	// revision is released by Close. It is nil after that, and for a delegate,
	// which uses its parent's.
	revision *registry.Revision

	// result and err are the latest return values of the backend.
	result *backend.Result
	err    error
}

// Prepare resolves a turn in the revision of the request, and holds the revision until Close. It
// fails if the request cannot start.
func (r *AgentRuntime) Prepare(ctx context.Context, req *Request, sink event.Sink) (*Activation, error) {
	a, err := r.newActivation(ctx, req, sink)
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// newActivation is Prepare without the allocation.
func (r *AgentRuntime) newActivation(ctx context.Context, req *Request, sink event.Sink) (Activation, error) {
	rev := req.Revision
	if rev == nil {
		rev = r.registry.Acquire()
	} else if !rev.Retain() {
		return Activation{}, fmt.Errorf("resolve agent %s: %w", req.AgentID, ErrRevisionClosed)
	}
	h, err := r.prepareTurn(ctx, rev, req, sink, nil)
	if err != nil {
		rev.Release()
		return Activation{}, err
	}
	return Activation{host: h, revision: rev}, nil
}

// Revision returns the revision that the turn resolved in; nil after Close.
func (a *Activation) Revision() *registry.Revision { return a.revision }

// Close releases the revision that the turn resolved in. It may be called more than
// once.
func (a *Activation) Close() {
	if a.revision != nil {
		a.revision.Release()
		a.revision = nil
	}
}

// Observe starts the turn's span in the trace of ctx. Finish and Leave end it.
func (a *Activation) Observe(ctx context.Context) context.Context {
	ctx, a.span = a.host.startSpan(ctx)
	a.begun = time.Now()
	return ctx
}

// Execute runs the turn until it ends, suspends, yields or is lost. ctx must come from Observe.
func (a *Activation) Execute(ctx context.Context) Disposition {
	a.result, a.err = a.host.executeJob(ctx)
	switch {
	case errors.Is(a.err, backend.ErrYield) && a.result != nil && a.result.State != nil:
		return Yielded
	case a.err == nil && isSuspended(a.result):
		return Suspended
	case a.err != nil && backend.Released(ctx):
		return Lost
	default:
		return Ended
	}
}

// Finish ends the turn with its only terminal event, and returns the result. A turn that failed or
// was canceled also returns a *TurnError. A suspended turn may be finished if it will get no
// answer.
func (a *Activation) Finish(ctx context.Context) (*Result, error) {
	out, err := a.host.finishTurn(ctx, a.result, a.err, a.begun)
	endSpan(a.span, out, err)
	return out, err
}

// Suspend emits the event that the turn waits for answers, ends the work on the turn, and returns
// its progress.
func (a *Activation) Suspend() *Result {
	h, state := a.host, a.result.State
	_ = h.emitLast(waitingFor(state)) // a panic of the sink must not stop the turn from waiting
	state.Seq = h.latestSeq()
	return a.Leave(nil)
}

// waitingFor returns the event that lists the open interactions of a suspended turn.
func waitingFor(state *backend.State) *event.RunWaiting {
	waiting := new(event.RunWaiting)
	for _, request := range state.Interactions() {
		waiting.Interactions = append(waiting.Interactions, request.ID)
	}
	return waiting
}

// Leave ends the work on a turn that has not ended, and returns its progress. cause, which may be
// nil, is why another worker continues the turn.
func (a *Activation) Leave(cause error) *Result {
	if a.result == nil {
		a.result = new(backend.Result)
	}
	out := a.host.turnResult(a.result)
	endSpan(a.span, out, cause)
	return out
}

// prepareResume emits that a suspended turn waits, and makes Execute continue from
// its state. It fails with a *backend.MismatchError, which ends the turn, if the
// backend cannot take answers.
func (a *Activation) prepareResume() error {
	state := a.result.State
	if a.err = a.host.checkResumable(state); a.err == nil {
		a.host.emit(waitingFor(state))
	}
	a.host.continueFrom(state)
	return a.err
}

// stopWaiting ends a suspended turn whose context had ended before it ran.
func (a *Activation) stopWaiting(ctx context.Context) {
	a.err = a.host.stopWaiting(ctx, a.result)
}

// Abandon ends the turn's delegates that wait at peers, after the turn was ended externally.
func (a *Activation) Abandon(ctx context.Context) { a.host.abandonDelegates(ctx) }

// AgentUsages returns the usage of each agent in a result of the activation. It always has an
// entry.
func (a *Activation) AgentUsages(r *Result) event.AgentUsages { return a.host.agentUsages(r) }

// Artifacts returns the artifacts of the session, without their data.
func (a *Activation) Artifacts() []tools.Artifact { return a.host.session.Artifacts() }

// TakeArtifacts returns the artifacts, with their data, that the turn made since
// the last call.
func (a *Activation) TakeArtifacts() []*tools.Artifact { return a.host.session.takeMade() }

// startSpan starts the turn's span.
func (h *host) startSpan(ctx context.Context) (context.Context, *telemetry.TurnSpan) {
	if h.runtime.observer == nil {
		return telemetry.WithTurn(ctx, h.turnID), nil
	}
	turn := telemetry.Turn{
		AgentID: h.agent, Description: h.job.Agent.Description, TurnID: h.turnID, SessionID: h.sessionID,
		Revision: h.revision.Number(), Tenant: h.tenant, Resumed: h.job.State != nil,
	}
	if h.parent != nil {
		turn.ParentTurnID = h.parent.turnID
	}
	if env := h.job.Local; env != nil {
		turn.Provider = env.Provider
		if !env.Pool {
			turn.Model = env.Upstream
		}
	}
	return h.runtime.observer.StartTurn(ctx, turn)
}

// stopWaiting ends a turn whose backend still waits for an answer although the
// context has ended, and returns why it ends.
func (h *host) stopWaiting(ctx context.Context, res *backend.Result) error {
	if res.State.Remote != nil || len(res.State.Hosted) > 0 {
		h.abandonTasks(ctx, []*backend.State{res.State})
	}
	res.State, res.Interactions = nil, nil
	return backend.Ended(ctx)
}
