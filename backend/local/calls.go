package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// call is one tool call of a step.
type call struct {
	*model.ToolCall
	entry    *tools.Entry
	settled  bool
	executed bool
	outcome  event.CallOutcome
	result   tools.Result
	begun    time.Time
	// cancel ends the context of a call that is executed.
	cancel context.CancelFunc
}

// callsOf returns the calls that an answer asks for.
func callsOf(answer *model.Message) []call {
	asked := answer.ToolCalls()
	calls := make([]call, len(asked))
	for i, c := range asked {
		calls[i].ToolCall = c
	}
	return calls
}

// runCalls decides about the calls of an answer, executes those that are let
// through, and keeps a result for every one.
func (t *turn) runCalls(ctx context.Context) (ended *event.Termination, err error) {
	if t.job.Agent.ToolExecution == spec.Sequential {
		ended, err = t.oneByOne(ctx, t.calls)
	} else {
		ended, err = t.together(ctx, t.calls)
	}
	t.engine.Context.Call = nil
	t.keepResults()
	if err == nil {
		err = backend.Ended(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case ended != nil:
		return ended, nil
	case t.stop != nil:
		return t.stop, nil
	case len(t.tickets) > 0:
		return &event.Termination{Type: event.Suspended}, nil
	default:
		return nil, nil //nolint:nilnil // the turn goes on
	}
}

// oneByOne asks the gates about each call when its turn has come, so that they
// see what the calls before it did.
func (t *turn) oneByOne(ctx context.Context, calls []call) (*event.Termination, error) {
	for i := range calls {
		ended, err := t.decide(ctx, &calls[i])
		if ended != nil || err != nil {
			return ended, err
		}
		if err := t.execute(ctx, calls[i:i+1]); err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // the turn goes on
}

// together asks the gates about all calls, then executes those let through at
// the same time; a call of a serial tool runs by itself, behind them.
func (t *turn) together(ctx context.Context, calls []call) (*event.Termination, error) {
	for i := range calls {
		ended, err := t.decide(ctx, &calls[i])
		if ended != nil || err != nil {
			return ended, err
		}
	}
	serial := func(c *call) bool { return c.entry != nil && c.entry.Descriptor.Serial }
	if len(calls) == 1 || !slices.ContainsFunc(calls, func(c call) bool { return serial(&c) }) {
		return nil, t.execute(ctx, calls)
	}
	// Settled calls are passed over, so that the first round takes the rest.
	for i := range calls {
		calls[i].settled = calls[i].settled || serial(&calls[i])
	}
	if err := t.execute(ctx, calls); err != nil {
		return nil, err
	}
	for i := range calls {
		if c := &calls[i]; serial(c) && !c.executed && c.outcome == "" {
			c.settled = false
			if err := t.execute(ctx, calls[i:i+1]); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil //nolint:nilnil // the turn goes on
}

// decide settles a call that is not to be executed: because the model was not
// offered such a tool, or because a gate says so.
func (t *turn) decide(ctx context.Context, c *call) (*event.Termination, error) {
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	c.entry = t.env.Tools.Get(c.Name)
	switch {
	case c.entry == nil:
		t.settleCall(c, tools.ErrorResult(t.unknownTool(c.Name)), event.CallFailed)
		return nil, nil //nolint:nilnil // the turn goes on
	case !t.plan.Offers(c.Name):
		t.settleCall(c, tools.ErrorResult(fmt.Sprintf("the tool %q is not available now", c.Name)), event.CallFailed)
		return nil, nil //nolint:nilnil // the turn goes on
	}
	t.engine.Context.Call = c.ToolCall
	d := t.engine.Gate(ctx)
	switch d.Kind {
	case plugins.Allow:
		return nil, t.phase(ctx, plugins.BeforeToolExecute)
	case plugins.SetResult:
		outcome := event.CallSucceeded
		if d.Result.IsError {
			outcome = event.CallFailed
		}
		t.settleCall(c, d.Result.Readable(), outcome)
	case plugins.Suspend:
		if d.Ticket == nil {
			d.Ticket = &plugins.Ticket{ID: c.ID, Message: d.Reason}
		}
		waiting := "[Waiting for something outside]"
		if d.Ticket.Message != "" {
			waiting = "[Waiting for something outside: " + d.Ticket.Message + "]"
		}
		t.tickets = append(t.tickets, d.Ticket)
		t.settleCall(c, tools.TextResult(waiting), event.CallSuspended)
	case plugins.Block:
		t.settleCall(c, tools.ErrorResult(d.Reason), event.CallFailed)
		if d.Terminate {
			return blocked(&d), nil
		}
	}
	return nil, nil //nolint:nilnil // the turn goes on
}

func (t *turn) unknownTool(name string) string {
	text := fmt.Sprintf("there is no tool %q", name)
	names := make([]string, 0, len(t.env.Offered))
	for i := range t.env.Offered {
		names = append(names, t.env.Offered[i].Name)
	}
	if near, ok := nearest.Of(name, names); ok {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// settleCall gives a call its result and shows it.
func (t *turn) settleCall(c *call, result tools.Result, outcome event.CallOutcome) {
	c.settled, c.outcome, c.result = true, outcome, result
	done := &event.ToolCallDone{
		ID: c.ID, Name: c.Name, MessageID: t.messageID("t"), Outcome: outcome,
		Result: shown(result.Content, result.IsError),
	}
	if !c.begun.IsZero() {
		done.DurationMS = time.Since(c.begun).Milliseconds()
	}
	t.host.Emit(done)
}

// shown returns a result as events carry it.
func shown(parts []model.Part, isError bool) event.ToolResult {
	content := make([]event.Content, len(parts))
	for i := range parts {
		content[i] = event.Content{Type: string(parts[i].Type), Text: parts[i].Text}
		if b := parts[i].Blob; b != nil {
			content[i].MediaType, content[i].Data, content[i].URI, content[i].Name = b.MediaType, b.Data, b.URI, b.Name
		}
	}
	return event.ToolResult{Content: content, IsError: isError}
}

// keepResults adds the results of the step's calls to the conversation, in the
// order of the calls. A call that has none, because the turn ended before, was
// interrupted: a conversation in which a call has no result cannot go on.
func (t *turn) keepResults() {
	if len(t.calls) == 0 {
		return
	}
	results := make([]model.ToolResult, len(t.calls))
	parts := make([]model.Part, len(t.calls))
	failed := 0
	for i := range t.calls {
		c := &t.calls[i]
		if c.outcome == "" {
			t.settleCall(c, tools.ErrorResult(interruptedText), event.CallFailed)
		}
		if c.outcome == event.CallFailed {
			failed++
		}
		results[i] = model.ToolResult{CallID: c.ID, Name: c.Name, Content: c.result.Content, IsError: c.result.IsError}
		parts[i] = model.Part{Type: model.PartToolResult, ToolResult: &results[i]}
	}
	t.stats.FailedSteps++
	if failed < len(t.calls) {
		t.stats.FailedSteps = 0
	}
	t.transcript = append(t.transcript, model.Message{ID: t.messageID("t"), Role: model.RoleTool, Parts: parts})
	t.calls = nil
}

const interruptedText = "[Tool execution was interrupted]"

// blocked is how a turn ends that a gate ended.
func blocked(d *plugins.Decision) *event.Termination {
	return &event.Termination{Type: event.Blocked, Code: d.Plugin, Detail: fmt.Sprintf("plugin %s: %s", d.Plugin, d.Reason)}
}

// execute runs the calls that are not settled, all at the same time, and then
// the hooks behind each, in the order of the calls.
func (t *turn) execute(ctx context.Context, calls []call) error {
	if err := backend.Ended(ctx); err != nil {
		return err
	}
	b := &batch{turn: t, calls: calls, notes: make(chan note), over: make(chan struct{})}
	for i := range calls {
		if !calls[i].settled {
			b.start(ctx, i)
		}
	}
	if b.running == 0 {
		return nil
	}
	b.wait()
	for i := range calls {
		c := &calls[i]
		if !c.executed {
			continue
		}
		t.engine.Context.Call, t.engine.Context.Result = c.ToolCall, &c.result
		err := t.phase(ctx, plugins.AfterToolExecute)
		t.engine.Context.Result = nil
		if err != nil {
			return err
		}
	}
	return nil
}
