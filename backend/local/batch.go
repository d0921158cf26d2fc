package local

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// patience is how long a tool whose time is up has to return before its call is
// given up. The goroutine of a call that was given up ends when the tool does.
const patience = 500 * time.Millisecond

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
	// usage is what a delegate used.
	usage *model.Usage
}

func (b *batch) tell(n note) {
	select {
	case b.notes <- n:
	case <-b.over:
	}
}

// start runs a call on a goroutine of its own.
func (b *batch) start(ctx context.Context, i int) {
	c := &b.calls[i]
	c.executed, c.begun = true, time.Now()
	b.running++
	if limit := c.entry.Descriptor.Limit(); limit != tools.NoTimeout {
		ctx, c.cancel = context.WithTimeout(ctx, limit)
	} else {
		ctx, c.cancel = context.WithCancel(ctx)
	}
	h := &callHost{batch: b, index: i, ctx: ctx, call: tools.Call{
		ID: c.ID, Tool: c.Name, Arguments: c.Arguments,
		TurnID: b.job.TurnID, SessionID: b.job.SessionID, AgentID: b.job.Agent.ID,
		Step:           b.stats.Steps,
		IdempotencyKey: b.job.TurnID + "/" + strconv.Itoa(b.stats.Steps) + "/" + c.ID,
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
		result := tools.ErrorResult("tool " + entry.ID + " ended without a result")
		defer func() {
			inTime()
			h.over.Store(true)
			b.tell(note{index: i, result: &result})
		}()
		result = entry.Execute(ctx, &h.call)
	}()
}

// wait takes in what the calls tell until each has a result.
func (b *batch) wait() {
	defer b.close()
	for b.running > 0 {
		n := <-b.notes
		c := &b.calls[n.index]
		switch {
		case n.usage != nil:
			b.stats.Usage.Add(*n.usage)
		case c.settled: // what comes after the call was given up
		case n.data != nil:
			b.host.Emit(n.data)
		case n.ended != nil:
			b.running--
			b.settleCall(c, tools.ErrorResult(c.entry.EndedText(n.ended)), event.CallFailed)
		default:
			b.running--
			outcome := event.CallSucceeded
			if n.result.IsError {
				outcome = event.CallFailed
			}
			b.settleCall(c, *n.result, outcome)
		}
	}
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
	usage := result.Usage
	h.batch.tell(note{index: h.index, usage: &usage})
	return result, nil
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
