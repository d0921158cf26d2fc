package local

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// The time for a call to return after its context has ended, before it is abandoned. The goroutine
// of an abandoned call ends when the tool does.
const (
	// patience is the grace period of a tool.
	patience = 500 * time.Millisecond
	// delegatePatience is the grace period of a delegate, which may have to end a task at a peer.
	// It is shorter than a turn's, so that the turn still records the call.
	delegatePatience = 9 * time.Second
)

// patienceWith returns a call's grace period.
func patienceWith(entry *toolset.Entry) time.Duration {
	if entry.Source.Kind == toolset.SourceDelegate {
		return delegatePatience
	}
	return patience
}

// executeCalls runs the allowed calls concurrently, and then the hooks after each, in the order of
// the calls. Calls with a result got it before the process died; only their hooks still have to
// run.
func (t *turn) executeCalls(ctx context.Context, calls []*call) error {
	if err := backend.Ended(ctx); err != nil {
		return err
	}
	b := &batch{turn: t, calls: calls}
	returned := func(c *call) bool { return c.phase == callReturned }
	if slices.ContainsFunc(calls, returned) {
		b.calls = slices.DeleteFunc(slices.Clone(calls), returned)
	}
	if err := b.runCalls(ctx); err != nil {
		return err
	}
	for _, c := range calls {
		if c.phase != callReturned || c.entry == nil { // it waits, or its tool is gone
			continue
		}
		t.showToHooks(c)
		t.engine.Context.Result = &c.result
		err := t.runPhase(ctx, plugins.AfterToolExecute)
		t.engine.Context.Result = nil
		if err != nil {
			return err
		}
		c.applyMove(moveFinish)
	}
	return nil
}

// batch is a group of concurrent tool calls. Their goroutines report to the turn's goroutine, which
// alone emits events and changes the turn.
type batch struct {
	*turn
	calls   []*call
	running int
	inbox
	// first is memory for the first call: most answers request one.
	first callHost
}

// hostOf returns a call's host.
func (b *batch) hostOf(i int) *callHost {
	if i == 0 {
		return &b.first
	}
	return new(callHost)
}

// runCalls starts the calls and waits until each has a result.
func (b *batch) runCalls(ctx context.Context) error {
	if len(b.calls) == 0 {
		return nil
	}
	may, err := b.beginCalls(ctx)
	if may == 0 {
		return err
	}
	b.cond.L = &b.mu
	for i := range may {
		b.startCall(ctx, i)
	}
	b.awaitCalls(ctx)
	return err
}

// startCall runs a call on a separate goroutine.
func (b *batch) startCall(ctx context.Context, i int) {
	c := b.calls[i]
	c.applyMove(moveStart)
	b.running++
	h := b.hostOf(i)
	h.Session, h.batch, h.index, h.entry, h.life.host = b.host.Session(), b, i, c.entry, h
	h.call = tools.Call{
		ID: c.ID, Tool: c.Name, Arguments: c.Arguments,
		TurnID: b.job.TurnID, SessionID: b.job.SessionID, AgentID: b.agent.ID,
		Step: b.stats.Steps, IdempotencyKey: b.journal[c.journal].IdempotencyKey, Resumed: c.resumed, Host: h, Session: h, Workspace: b.job.Workspace,
		Tenant: b.env.Tenant,
	}
	h.life.beginCall(ctx, c.begun, c.entry.Descriptor.Limit())
	c.life = &h.life
	h.ctx, c.span = b.span.StartTool(c.life, telemetry.ToolCall{
		ID: c.ID, Name: c.Name, Effect: string(c.entry.Descriptor.EffectClass()), Source: string(c.entry.Source.Kind),
		AgentID: b.agent.ID, Arguments: c.Arguments,
	})
	if aside := b.job.RunAside; aside != nil {
		aside(h.run)
	} else {
		go h.run()
	}
}

// awaitCalls receives notes from the calls until each has a result, or was cut short.
func (b *batch) awaitCalls(ctx context.Context) {
	defer b.close()
	for b.running > 0 {
		n := b.nextNote()
		c := b.calls[n.index]
		switch {
		case n.session:
			b.host.FlushSession()
		case n.keep != nil:
			n.keep.answer <- b.keepCall(c, n.keep)
		case n.delegated != nil:
			b.addDelegate(c, n.delegated)
		case n.sampled != nil:
			b.addSample(c, n.sampled)
		case n.handOff != nil:
			n.handOff.answer <- b.askHandoff(c, n.handOff.agent)
		case c.phase != callRunning: // sent after the call was abandoned or suspended
		case n.data != nil:
			b.host.Emit(n.data)
		case n.event != nil:
			b.host.EmitDelegated(n.event)
		case backend.Released(ctx) && (n.ended != nil || n.result.IsError):
			b.cutCallShort(c)
		case n.ended != nil:
			b.finishCall(c, tools.ErrorResult(c.entry.EndedText(n.ended)), n.ended)
		default:
			b.finishCall(c, *n.result, nil)
		}
	}
}

// finishCall applies the result of a call, and records its outcome; ended is why an
// abandoned call's context ended.
func (b *batch) finishCall(c *call, result tools.Result, ended error) {
	b.running--
	switch {
	case result.Wait != nil:
		c.resume = result.Wait.State
		b.suspendCall(c, interactionsOf(result.Wait))
	case result.Indeterminate:
		b.settleInDoubt(c, model.PartsText(result.Content))
	case result.IsError:
		b.settleCall(c, result, event.CallFailed)
	default:
		b.settleCall(c, result, event.CallSucceeded)
	}
	outcome := c.outcomeSoFar()
	c.span.End(telemetry.ToolOutcome{Outcome: outcome, Failure: failureOf(ended), Result: c.result.Content})
	b.recordOutcome(c, outcome)
}

// cutCallShort ends a call that failed or did not return after the worker released the turn. The
// end of its context may be the cause, so the error is not its result: the next worker treats the
// call as if this one had died.
func (b *batch) cutCallShort(c *call) {
	b.running--
	c.span.End(telemetry.ToolOutcome{Outcome: event.CallIndeterminate, Failure: string(model.Canceled)})
}

// failureOf returns the failure of an abandoned call for telemetry.
func failureOf(ended error) string {
	switch {
	case ended == nil:
		return ""
	case errors.Is(ended, context.DeadlineExceeded):
		return string(model.Timeout)
	default:
		return string(model.Canceled)
	}
}

// addDelegate adds a delegate's usage and cost. Its calls have already been counted against the
// budgets.
func (b *batch) addDelegate(c *call, r *tools.DelegateResult) {
	b.host.FlushSession() // the delegate's changes belong to the session
	after := c.ensureAftermath()
	b.splitUsage()
	for _, u := range r.Agents {
		after.Agents.Add(u)
		b.agents.Add(u)
	}
	after.Usage.Add(r.Usage)
	b.stats.Usage.Add(r.Usage)
	if r.Cost == nil {
		return
	}
	b.stats.Currency = cmp.Or(b.stats.Currency, r.Cost.Currency)
	if r.Cost.Currency != b.stats.Currency {
		return // two currencies cannot be added
	}
	after.Currency = b.stats.Currency
	after.Cost += r.Cost.Amount
	b.stats.Cost += r.Cost.Amount
}

// askHandoff schedules a handoff to another agent for the end of the step.
func (b *batch) askHandoff(c *call, agent string) error {
	if err := b.mayHandoff(agent); err != nil {
		return err
	}
	if b.handOff == "" {
		b.handOff = agent
		c.ensureAftermath().Handoff = agent
	}
	return nil
}

// close stops listening to the calls. It cancels calls that still run because handling a note
// panicked.
func (b *batch) close() {
	b.closeInbox()
	for _, c := range b.calls {
		if c.phase == callRunning {
			c.life.cancel()
		}
	}
}
