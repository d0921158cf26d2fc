package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// runTurn runs the turn.
func (w *worker) runTurn(ctx context.Context) error {
	strikes := w.turn.Strikes
	if strikes >= w.pool.settings.Strikes {
		return w.failTurn(ctx, event.Termination{Type: event.Failed, Code: CodePoison, Detail: fmt.Sprintf("the turn crashed %d workers without making progress", strikes)})
	}
	if strikes > 0 {
		last := strikes == w.pool.settings.Strikes-1
		releaseLast := func() {}
		if last {
			var ok bool
			if releaseLast, ok = w.pool.acquireIsolation(); !ok {
				return w.log.commitEnd(ctx, ending{yield: true, due: w.pool.now().Add(isolationPause)})
			}
			defer releaseLast()
		}
		release := w.pool.runApart(ctx, last)
		defer release()
		w.log.onProgress = func() { release(); releaseLast() }
	}
	if err := w.readRequest(ctx); err != nil {
		return w.endUnstarted(ctx, err)
	}
	turning, release, err := w.makeTools(ctx)
	defer release()
	if err != nil {
		return w.endUnstarted(ctx, &unresolvedError{err})
	}
	rev, err := w.acquireRevision(ctx)
	if err != nil {
		return w.endUnstarted(ctx, err)
	}
	defer rev.Release()
	w.order.Request.Revision = rev
	w.assignAgent(rev)
	a, err := w.pool.settings.Runtime.Prepare(ctx, w.order.Request, w.log)
	if err != nil {
		return w.endUnstarted(ctx, &unresolvedError{err})
	}
	defer a.Close()
	w.log.artifactSource = a
	return w.runActivation(telemetry.Extract(turning, w.order.Trace), a)
}

// assignAgent gives the turn to the agent that has the conversation.
func (w *worker) assignAgent(rev *registry.Revision) {
	req, to := w.order.Request, w.order.Agent
	if to == "" || to == req.AgentID {
		return
	}
	_, ok := rev.Set().Agent(to)
	if !ok {
		w.pool.settings.Logger.Warn("current agent of session removed; turn goes to the agent that it was made for", zap.String("turn_id", w.turn.ID),
			zap.String("session_id", w.turn.SessionID), zap.String("removed", to), zap.String("agent", req.AgentID))
		return
	}
	req.AgentID, req.HandedOver = to, true
}

// runActivation runs the turn and commits the result.
func (w *worker) runActivation(ctx context.Context, a *runtime.Activation) error {
	ctx = a.Observe(ctx)
	how := a.Execute(ctx)
	cause := context.Cause(ctx)
	if errors.Is(cause, errLost) || errors.Is(cause, errEnded) || w.log.brokenErr() != nil {
		if errors.Is(cause, errEnded) {
			a.Abandon(ctx)
		}
		a.Leave(cause)
		return w.log.brokenErr()
	}
	switch how {
	case runtime.Yielded:
		return w.log.commitEnd(ctx, ending{state: a.Leave(nil).State, yield: true})
	case runtime.Suspended:
		w.pool.kept.keep(a.Revision())
		out := a.Suspend()
		return w.log.commitEnd(ctx, ending{state: out.State, interactions: out.Interactions})
	case runtime.Lost:
		a.Leave(errHandBack)
		return w.log.commitEnd(ctx, ending{yield: true})
	default:
		out, _ := a.Finish(ctx) // the termination has the error
		return w.commitResult(ctx, a, out)
	}
}

// readRequest decodes the request of the turn and its conversation.
func (w *worker) readRequest(ctx context.Context) error {
	var conversation [][]byte
	if snapshot := w.claimed.Snapshot; snapshot != nil {
		var err error
		if conversation, err = w.pool.settings.Store.Conversation(ctx, snapshot.ID); err != nil {
			return err
		}
	}
	w.pool.noteBytes(w.turn.ID, conversation, w.claimed.Messages, [][]byte{w.claimed.State})
	order, err := w.pool.settings.Read(w.claimed, conversation)
	if err != nil {
		return &unreadableError{err}
	}
	w.order = order
	req := order.Request
	req.Checkpoint, req.Journal = w.commitCheckpoint, w.log
	if w.pool.settings.KeepRequest != nil {
		req.KeepRequest = w.keepRequest
	}
	w.log.patience, w.log.messages = order.Patience, order.Added
	if req.State != nil {
		w.log.inDoubt = inDoubt(req.State)
	}
	return nil
}

// makeTools makes the tools that the turn brings along and returns the context in which the turn
// runs. release is called when the tools are no longer needed.
func (w *worker) makeTools(ctx context.Context) (turning context.Context, release func(), err error) {
	if w.order.MakeTools == nil {
		return ctx, func() {}, nil
	}
	return w.order.MakeTools(ctx)
}

// unreadableError means that a stored turn cannot be read.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }

// Unwrap returns the reason.
func (e *unreadableError) Unwrap() error { return e.err }

// WorkspaceError means that a turn cannot begin because the workspace of its session is missing.
type WorkspaceError struct{ Err error }

// Error is the reason.
func (e *WorkspaceError) Error() string { return e.Err.Error() }

// endUnstarted ends the work on a turn that could not begin. The turn fails unless the reason lies
// elsewhere: the worker is stopping, or the store cannot be read.
func (w *worker) endUnstarted(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, new(*WorkspaceError)):
		return w.failTurn(ctx, event.Termination{Type: event.Failed, Code: CodeWorkspace, Detail: err.Error()})
	case errors.As(err, new(*unreadableError)):
		return w.failTurn(ctx, event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: err.Error()})
	case cause == nil && errors.As(err, new(*goneError)):
		return w.failTurn(ctx, event.Termination{Type: event.Failed, Code: CodeRevisionGone, Detail: err.Error()})
	case cause == nil && errors.As(err, new(*unresolvedError)):
		return w.failTurn(ctx, event.Termination{Type: event.Failed, Code: CodeUnresolved, Detail: err.Error()})
	case cause == nil:
		return err
	case errors.Is(cause, errLost), errors.Is(cause, errEnded):
		return w.log.brokenErr()
	default:
		return w.log.commitEnd(ctx, ending{yield: true})
	}
}

// commitCheckpoint stores the turn between two steps. A stopping worker stops there.
func (w *worker) commitCheckpoint(ctx context.Context, state *backend.State) error {
	if w.pool.draining.Load() {
		return backend.ErrYield
	}
	return w.log.commitStep(ctx, state)
}

// commitResult commits the result of the turn.
func (w *worker) commitResult(ctx context.Context, a *runtime.Activation, out *runtime.Result) error {
	e := ending{status: StatusOf(out.Termination), agents: a.AgentUsages(out), messages: out.Messages, steps: out.Steps}
	if e.status == store.Succeeded {
		snapshot, err := w.newSnapshot(a, out)
		if err != nil {
			return w.failTurn(ctx, event.Termination{Type: event.Failed, Code: backend.CodeInternal, Detail: err.Error()})
		}
		e.snapshot, out.SnapshotID = snapshot, snapshot.ID
	}
	var err error
	if e.result, err = json.Marshal(out.Outcome); err != nil {
		return err
	}
	return w.log.commitEnd(ctx, e)
}

// newSnapshot returns the session's state after the turn.
func (w *worker) newSnapshot(a *runtime.Activation, out *runtime.Result) (*store.Snapshot, error) {
	t := w.turn
	kept := &store.Snapshot{
		ID: t.SnapshotID, SessionID: t.SessionID, Owner: t.Owner, ParentID: t.ParentSnapshotID, TurnID: t.ID, AgentID: t.AgentID,
		FinishReason: string(out.FinishReason), Custom: out.Custom, CreatedAt: w.pool.now(),
	}
	if out.Agent != spec.EphemeralAgent && !w.pool.settings.ForgetHandoffs {
		kept.CurrentAgentID = out.Agent
	}
	var err error
	if len(out.Session) > 0 {
		if kept.State, err = json.Marshal(out.Session); err != nil {
			return nil, fmt.Errorf("keep the state of the session: %w", err)
		}
	}
	kept.Artifacts, err = EncodeArtifacts(a.Artifacts())
	return kept, err
}

// failTurn ends a turn that cannot run, and the tasks that an earlier worker started at peers.
func (w *worker) failTurn(ctx context.Context, why event.Termination) error {
	out, agents := ProgressOf(w.claimed.State)
	out.Termination = why
	result, err := json.Marshal(&out)
	if err != nil {
		return err
	}
	w.log.replaceLast(out.RunFinish())
	w.logFailure(why.Code, zap.String("detail", why.Detail))
	left := w.pool.peerTasks(ctx, w.turn.ID)
	if err := w.log.commitEnd(ctx, ending{status: store.Failed, result: result, agents: agents, steps: out.Steps}); err != nil {
		return err
	}
	w.pool.Abandon(w.turn.ID, left)
	return nil
}

// StatusOf returns the status of a turn with this termination.
func StatusOf(t event.Termination) store.Status {
	switch t.Status() {
	case event.StatusSucceeded:
		return store.Succeeded
	case event.StatusCanceled:
		return store.Canceled
	default:
		return store.Failed
	}
}

// ProgressOf returns the outcome so far of a turn with a stored state, and the usage of each agent.
// They are empty without a state.
func ProgressOf(raw []byte) (event.Outcome, event.AgentUsages) {
	state := new(backend.State)
	if len(raw) == 0 || json.Unmarshal(raw, state) != nil {
		return event.Outcome{}, nil
	}
	o := event.Outcome{
		Agent: state.Agent, Revision: state.Revision.Number, Steps: state.Stats.Steps, Usage: state.Stats.Usage, Agents: state.Agents,
	}
	if state.Stats.Currency != "" {
		o.Cost = &event.Cost{Amount: state.Stats.Cost, Currency: state.Stats.Currency}
	}
	return o, state.AgentUsages()
}

// inDoubt returns the keys of the calls that have begun without an outcome, according to the state.
// A journal may also have calls of a step of which nothing else was stored: those begin again.
func inDoubt(state *backend.State) map[string]bool {
	open := make(map[string]bool)
	for i := range state.Calls {
		c := &state.Calls[i]
		open[c.ID] = c.Decided && c.Outcome == "" && c.Result == nil
	}
	keys := make(map[string]bool)
	for i := range state.Journal {
		if e := &state.Journal[i]; e.Outcome == "" && e.Step == state.Stats.Steps && open[e.CallID] {
			keys[e.IdempotencyKey] = true
		}
	}
	return keys
}
