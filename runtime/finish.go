package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// finishTurn emits the only terminal event and returns the result.
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

// logOutcome logs how the turn ended, if the log level is enabled.
func (h *host) logOutcome(ctx context.Context, res *backend.Result, status event.Status, err error, begun time.Time) {
	for i := range res.DeadLetters {
		h.logDeadLetter(ctx, &res.DeadLetters[i])
	}
	level := zap.DebugLevel
	if status == event.StatusFailed || res.Termination.CutShort() {
		level = zap.WarnLevel
	}
	if h.runtime.logger.Core().Enabled(level) {
		h.writeOutcome(ctx, level, res, status, err, begun)
	}
}

func (h *host) logDeadLetter(ctx context.Context, l *execution.DeadLetter) {
	telemetry.Logger(ctx, h.runtime.logger).Warn("plugin action failed",
		zap.String("agent", h.agent), zap.String("plugin", l.Plugin), zap.String("action", l.Action.Key), zap.Error(l.Err))
}

// writeOutcome is separate from logOutcome because log fields need a large stack.
func (h *host) writeOutcome(ctx context.Context, level zapcore.Level, res *backend.Result, status event.Status, err error, begun time.Time) {
	entry := h.runtime.logger.Named("turn").Check(level, "turn ended")
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

// endSpan ends the turn's span.
func endSpan(span *telemetry.TurnSpan, r *Result, err error) {
	o := telemetry.TurnOutcome{Outcome: r.Outcome, Status: r.Status, Err: err}
	if r.Termination.Type == "" { // stopped between two steps
		o.Status = event.StatusWaiting
	}
	span.End(o)
}
