package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// Request asks for one turn.
type Request struct {
	// AgentID is the agent that runs the turn.
	AgentID string
	// Input is what the turn works on: at least one message.
	Input []model.Message
	// History is the conversation before the input. The runtime does not modify it.
	History []model.Message
	// SessionID names the conversation; if empty, the turn is a conversation of its
	// own. Session is the state that earlier turns left, as in Result.Session.
	SessionID string
	Session   map[string]json.RawMessage
	// Custom is the application's own state of the session, a JSON value, and
	// Artifacts are those of the session, without their data. Both are what earlier
	// turns left.
	Custom    json.RawMessage
	Artifacts []tools.Artifact
	// TurnID is the turn's id; if empty, a new one is made.
	TurnID string
	// Params override those of the agent, field by field, and Overrides its limits
	// and the form of its answer.
	Params    model.Params
	Overrides resolve.Overrides
	// Ephemeral is an agent that the request itself defines. Its id is AgentID.
	Ephemeral *resolve.Ephemeral
	// Depth is the number of turns, in other runtimes, that led to this one.
	Depth int
	// Tenant owns the turn; empty if the turn is not stored. It can be a label of
	// metrics.
	Tenant string

	// State continues a turn that was stopped or suspended, with its original
	// input, history and turn id. The agent is that of the state.
	State *backend.State
	// Answers answer what the turn waits for.
	Answers []interaction.Answer

	// Persistence is for callers that store turns while they run, as package
	// service does.
	Persistence
}

// Persistence stores a turn while it runs, so that another process can continue it.
// The zero value stores nothing.
type Persistence struct {
	// Checkpoint, if set, receives the turn's state after each step that does not
	// end it. If it returns backend.ErrYield, the turn stops there without having
	// ended; any other error fails it.
	Checkpoint func(ctx context.Context, state *backend.State) error
	// Journal, if set, records calls in the middle of a step, so that the turn can
	// continue there if the process dies.
	Journal backend.Journaler
	// Indeterminate decides what becomes of a call that was running when the
	// process died and must not be repeated; empty means an error for the model.
	Indeterminate backend.Indeterminate
	// SnapshotID is reserved for the session snapshot that a successful turn makes,
	// and ParentSnapshotID is the one that the turn continues from. Tools and hooks
	// see both; empty if there is no snapshot.
	SnapshotID       string
	ParentSnapshotID string
	// ShowCustom, if set, returns the application's state as those who follow the
	// turn may see it. It gets a copy. If it fails, they do not see the change.
	ShowCustom func(custom json.RawMessage) (json.RawMessage, error)
}

// Prompt returns a request for a turn whose input is one message of the user.
func Prompt(agentID, text string) Request {
	return Request{AgentID: agentID, Input: []model.Message{model.User(text)}}
}

// Result is the outcome of a turn, or its progress. The agent of its Outcome is
// always set.
type Result struct {
	backend.Result
	TurnID    string
	SessionID string
	Status    event.Status
	// Custom is the application's own state of the session: as the turn left it, or
	// as it was before if the turn did not succeed; nil if it has none.
	Custom json.RawMessage
	// Artifacts are those that the turn and its delegates made, with their data.
	Artifacts []tools.Artifact
}

// TurnError reports that a turn began and failed. It wraps the cause: a
// *model.Error, a *execution.HookError, a *backend.PanicError, the end of the
// context.
type TurnError struct {
	TurnID string
	Agent  string
	// Termination is how the turn ended.
	Termination event.Termination
	Err         error
}

// Error names the agent and the cause.
func (e *TurnError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("turn of agent %s: %s: %s", e.Agent, e.Termination.Type, e.Termination.Detail)
	}
	return fmt.Sprintf("turn of agent %s: %v", e.Agent, e.Err)
}

// Unwrap returns the cause.
func (e *TurnError) Unwrap() error { return e.Err }

// ErrNoInput reports a request without a message.
var ErrNoInput = errors.New("the request has no input: give at least one message")

// Run runs a turn and returns its result. The events go to the sink, which may be
// nil, from run_start to exactly one run_finish. A turn that has to wait for
// something outside ends as suspended; use Start for turns that somebody answers.
//
// If the request cannot begin, because its agent does not resolve, it has no
// input, or an answer does not fit, Run returns an error, no result, and emits no
// event. A turn that began and failed or was canceled returns both a result and a
// *TurnError. One that was stopped between two steps returns a result with a
// State, and backend.ErrYield, and emits no run_finish.
func (r *AgentRuntime) Run(ctx context.Context, req Request, sink event.Sink) (*Result, error) {
	a, err := r.newActivation(ctx, &req, sink)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return a.runToOutcome(ctx)
}

// runToOutcome runs the turn up to its first outcome. It does not resume a turn
// that waits.
func (a *Activation) runToOutcome(ctx context.Context) (*Result, error) {
	ctx = a.Observe(ctx)
	if a.Execute(ctx) == Yielded {
		return a.Leave(nil), backend.ErrYield
	}
	return a.Finish(ctx)
}

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

// endSpan ends the turn's span.
func endSpan(span *telemetry.TurnSpan, r *Result, err error) {
	o := telemetry.TurnOutcome{Outcome: r.Outcome, Status: r.Status, Err: err}
	if r.Termination.Type == "" { // it was stopped between two steps
		o.Status = event.StatusWaiting
	}
	span.End(o)
}

// finishTurn emits the one terminal event and returns the result.
func (h *host) finishTurn(ctx context.Context, res *backend.Result, err error, begun time.Time) (*Result, error) {
	if res == nil {
		res = &backend.Result{}
	}
	if ctx.Err() != nil && h.overdue.IsZero() {
		h.overdue = time.Now().Add(patience)
	}
	if err != nil {
		res.Termination = backend.TerminationOf(err)
	} else if res.Termination.Type == "" {
		res.Termination.Type = event.NaturalEnd
	}
	if res.Termination.Type != event.Suspended && !backend.Released(ctx) {
		h.abandonDelegates(ctx)
	}
	status := res.Termination.Status()
	if sinkErr := h.emitLast(res.RunFinish()); err == nil {
		err = sinkErr
	}
	h.logOutcome(ctx, res, status, err, begun)
	out := h.turnResult(res)
	if err != nil || status == event.StatusFailed {
		return out, &TurnError{TurnID: h.turnID, Agent: out.Agent, Termination: res.Termination, Err: err}
	}
	return out, nil
}

// turnResult returns the turn's result, or its progress.
func (h *host) turnResult(res *backend.Result) *Result {
	out := &Result{Result: *res, TurnID: h.turnID, SessionID: h.sessionID, Status: res.Termination.Status()}
	out.Agent, out.Revision = h.agent, h.revision.Number()
	if out.State != nil {
		h.completeState(out.State)
	}
	out.Custom, out.Artifacts = h.session.close(out.State != nil || out.Status == event.StatusSucceeded)
	return out
}

func (h *host) logOutcome(ctx context.Context, res *backend.Result, status event.Status, err error, begun time.Time) {
	for i := range res.DeadLetters {
		l := &res.DeadLetters[i]
		telemetry.Logger(ctx, h.runtime.logger).Warn("plugin action failed",
			zap.String("agent", h.agent), zap.String("plugin", l.Plugin), zap.String("action", l.Action.Key), zap.Error(l.Err))
	}
	level := zap.DebugLevel
	if status == event.StatusFailed || res.Termination.CutShort() {
		level = zap.WarnLevel
	}
	entry := h.runtime.logger.Check(level, "turn ended")
	if entry == nil {
		return
	}
	fields := append(telemetry.Fields(ctx),
		zap.String("session_id", h.sessionID), zap.String("agent", h.agent),
		zap.String("status", string(status)), zap.String("termination", string(res.Termination.Type)), zap.String("code", res.Termination.Code),
		zap.Int("steps", res.Steps), zap.Int("tokens", res.Usage.Total()),
		zap.Duration("duration", time.Since(begun)),
	)
	if panicked, ok := errors.AsType[*backend.PanicError](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.Stack))
	}
	entry.Write(append(fields, zap.Error(err))...)
}
