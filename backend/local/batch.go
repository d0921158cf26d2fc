package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
)

// patience is how long a tool whose time is up has to return before its call is
// given up. The goroutine of a call that was given up ends when the tool does.
const patience = 500 * time.Millisecond

// execute runs the calls that were let through and have no result, all at the
// same time, and then the hooks behind each, in the order of the calls.
func (t *turn) execute(ctx context.Context, calls []call) error {
	if err := backend.Ended(ctx); err != nil {
		return err
	}
	b := &batch{turn: t, calls: calls, notes: make(chan note), over: make(chan struct{})}
	var refused error
	for i := range calls {
		c := &calls[i]
		if refused != nil || !c.decided || c.settled || c.executed {
			continue
		}
		refused = b.start(ctx, i)
	}
	if err := errors.Join(refused, b.wait()); err != nil {
		return err
	}
	for i := range calls {
		c := &calls[i]
		if !c.executed || !c.settled {
			continue
		}
		t.see(c)
		t.engine.Context.Result = &c.result
		err := t.phase(ctx, plugins.AfterToolExecute)
		t.engine.Context.Result = nil
		if err != nil {
			return err
		}
	}
	return nil
}

// batch is tool calls that run at the same time. Their goroutines report to the
// turn's own, which alone emits events and touches the turn.
type batch struct {
	*turn
	calls   []call
	running int
	notes   chan note
	// over is closed when nobody listens any more.
	over chan struct{}
}

// note is what a running call tells the turn. Exactly one kind of it is set.
type note struct {
	index int
	// result is what the call came to.
	result *tools.Result
	// ended is why the context of a call ended that is given up.
	ended error
	// data is an event to emit.
	data event.Data
	// delegated is what a delegate came to.
	delegated *tools.DelegateResult
	// handOff asks for another agent; the answer says why it cannot be.
	handOff *handOffRequest
}

// handOffRequest is a tool's wish that another agent takes over.
type handOffRequest struct {
	agent  string
	answer chan error
}

func (b *batch) tell(n note) {
	select {
	case b.notes <- n:
	case <-b.over:
	}
}

// start runs a call on a goroutine of its own. The error says that no further
// call may run.
func (b *batch) start(ctx context.Context, i int) error {
	c := &b.calls[i]
	if c.resumed == nil { // one that waited was counted when it began
		if err := b.meter.BeginToolCall(); err != nil {
			return err
		}
		b.stats.ToolCalls++
	}
	key := b.job.TurnID + "/" + strconv.Itoa(b.stats.Steps) + "/" + c.ID
	if err := b.enter(c, key); err != nil {
		return err
	}
	c.executed = true
	b.running++
	if limit := c.entry.Descriptor.Limit(); limit != tools.NoTimeout {
		ctx, c.cancel = context.WithTimeout(ctx, limit)
	} else {
		ctx, c.cancel = context.WithCancel(ctx)
	}
	ctx, c.span = b.span.StartTool(ctx, telemetry.ToolCall{
		ID: c.ID, Name: c.Name, Effect: string(c.entry.Descriptor.EffectClass()), Source: string(c.entry.Source.Kind),
		AgentID: b.agent.ID, Arguments: c.Arguments,
	})
	h := &callHost{batch: b, index: i, ctx: ctx, call: tools.Call{
		ID: c.ID, Tool: c.Name, Arguments: c.Arguments,
		TurnID: b.job.TurnID, SessionID: b.job.SessionID, AgentID: b.agent.ID,
		Step: b.stats.Steps, IdempotencyKey: key, Resumed: c.resumed,
	}}
	h.call.Host = h
	inTime := context.AfterFunc(ctx, func() {
		time.AfterFunc(patience, func() {
			h.over.Store(true)
			b.tell(note{index: i, ended: ctx.Err()})
		})
	})
	entry, cancel := c.entry, c.cancel
	go func() {
		defer cancel()
		var result tools.Result
		returned := false
		defer func() {
			if !returned { // the tool ended the goroutine behind its back
				result = tools.ErrorResult("tool " + entry.ID + " ended without a result")
			}
			inTime()
			h.over.Store(true)
			b.tell(note{index: i, result: &result})
		}()
		result = entry.Execute(ctx, &h.call)
		returned = true
	}()
	return nil
}

// enter records that a call begins, or that one goes on that waited.
func (b *batch) enter(c *call, key string) error {
	c.begun = time.Now()
	begins := backend.JournalEntry{
		Step: b.stats.Steps, CallID: c.ID, Tool: c.Name, Effect: c.entry.Descriptor.EffectClass(),
		IdempotencyKey: key, Began: c.begun,
	}
	c.journal = slices.IndexFunc(b.journal, func(e backend.JournalEntry) bool { return e.IdempotencyKey == key })
	if c.resumed == nil || c.journal < 0 {
		c.journal = len(b.journal)
		b.journal = append(b.journal, begins)
	}
	b.journal[c.journal] = begins
	if j, ok := b.host.(backend.Journaler); ok {
		return j.Journal(&b.journal[c.journal])
	}
	return nil
}

// wait takes in what the calls tell until each has a result.
func (b *batch) wait() (err error) {
	defer b.close()
	for b.running > 0 {
		n := <-b.notes
		c := &b.calls[n.index]
		switch {
		case n.delegated != nil:
			b.addDelegate(n.delegated)
		case n.handOff != nil:
			n.handOff.answer <- b.askHandOff(n.handOff.agent)
		case c.settled, !c.executed: // what comes after the call was given up, or waits
		case n.data != nil:
			b.host.Emit(n.data)
		case n.ended != nil:
			err = errors.Join(err, b.leave(c, tools.ErrorResult(c.entry.EndedText(n.ended)), n.ended))
		default:
			err = errors.Join(err, b.leave(c, *n.result, nil))
		}
	}
	return err
}

// leave takes in what a call came to, and records its outcome; ended says why a
// call was given up. A call that waits has no outcome yet.
func (b *batch) leave(c *call, result tools.Result, ended error) error {
	b.running--
	took := time.Since(c.begun)
	switch {
	case result.Wait != nil:
		c.resume = result.Wait.State
		b.suspend(c, ticketsOf(result.Wait))
	case result.IsError:
		b.settleCall(c, result, event.CallFailed)
	default:
		b.settleCall(c, result, event.CallSucceeded)
	}
	c.span.End(telemetry.ToolOutcome{Outcome: c.outcome, Failure: failureOf(ended), Result: c.result.Content})
	entry := &b.journal[c.journal]
	entry.Outcome, entry.Duration = c.outcome, took
	if j, ok := b.host.(backend.Journaler); ok {
		return j.Journal(entry)
	}
	return nil
}

// failureOf is what an observer is told of a call that was given up.
func failureOf(ended error) string {
	switch {
	case ended == nil:
		return ""
	case errors.Is(ended, context.DeadlineExceeded):
		return string(model.Timeout)
	default:
		return string(model.Cancelled)
	}
}

// addDelegate adds what a delegate used and cost. Its own calls were counted
// for the budgets already.
func (b *batch) addDelegate(r *tools.DelegateResult) {
	b.stats.Usage.Add(r.Usage)
	if r.Cost == nil {
		return
	}
	b.stats.Cost += r.Cost.Amount
	b.stats.Currency = cmp.Or(b.stats.Currency, r.Cost.Currency)
}

// askHandOff notes that another agent takes over when the step is over.
func (b *batch) askHandOff(agent string) error {
	if err := b.mayHandOff(agent); err != nil {
		return err
	}
	if b.handOff == "" {
		b.handOff = agent
	}
	return nil
}

// close stops listening to the calls. Those that still run, because taking in
// what one of them told panicked, are cancelled.
func (b *batch) close() {
	close(b.over)
	for i := range b.calls {
		if c := &b.calls[i]; c.executed && !c.settled {
			c.cancel()
		}
	}
}

// callHost is what a running tool can ask of the runtime.
type callHost struct {
	batch *batch
	index int
	call  tools.Call
	ctx   context.Context //nolint:containedctx // that of the call, which its delegates do not outlive
	// over is set once the call has returned or was given up.
	over atomic.Bool
}

var _ tools.Host = (*callHost)(nil)

// Progress shows what the tool produced so far.
func (h *callHost) Progress(text string) {
	if h.over.Load() {
		return
	}
	h.batch.tell(note{index: h.index, data: &event.ToolCallStreamDelta{ID: h.call.ID, Name: h.call.Tool, Delta: text}})
}

// Delegate runs another agent as part of this turn, and shows that it does.
func (h *callHost) Delegate(ctx context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error) {
	if h.over.Load() {
		return nil, fmt.Errorf("call agent %s: the tool call is over", req.AgentID)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)() // a tool may have handed in another context
	req.CallID = h.call.ID
	h.activity(&delegation{Agent: req.AgentID, State: "running"})
	result, err := h.batch.host.Delegate(ctx, req)
	if err != nil {
		h.activity(&delegation{Agent: req.AgentID, State: "failed", Detail: err.Error()})
		return nil, err
	}
	h.activity(&delegation{Agent: req.AgentID, State: string(result.Status), TurnID: result.TurnID, Steps: result.Steps})
	h.batch.tell(note{index: h.index, delegated: result})
	return result, nil
}

// HandOff asks for another agent to take over.
func (h *callHost) HandOff(ctx context.Context, agentID string) error {
	if h.over.Load() {
		return fmt.Errorf("hand off to agent %s: the tool call is over", agentID)
	}
	asked := &handOffRequest{agent: agentID, answer: make(chan error, 1)}
	h.batch.tell(note{index: h.index, handOff: asked})
	select {
	case err := <-asked.answer:
		return err
	case <-h.batch.over:
		return fmt.Errorf("hand off to agent %s: the tool call is over", agentID)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// activityDelegate is the type of activities that show a delegate.
const activityDelegate = "delegate"

// delegation is the content of such an activity.
type delegation struct {
	Agent  string `json:"agent"`
	State  string `json:"state"`
	TurnID string `json:"turn_id,omitempty"`
	Steps  int    `json:"steps,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func (h *callHost) activity(d *delegation) {
	content, err := json.Marshal(d)
	if err != nil {
		content = fmt.Appendf(nil, "%q", err)
	}
	h.batch.tell(note{index: h.index, data: &event.ActivitySnapshot{
		MessageID: h.call.ID, ActivityType: activityDelegate, Content: content,
	}})
}
