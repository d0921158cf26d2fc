package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// callHost serves the requests of a running tool.
type callHost struct {
	tools.Session
	batch *batch
	index int
	call  tools.Call
	entry *toolset.Entry
	// life is the call's context, and ctx adds the call's span.
	life callContext
	ctx  context.Context //nolint:containedctx // that of the call, which its delegates do not outlive
	// result is the tool's result.
	result tools.Result
	// over is set once the call has returned or been abandoned.
	over atomic.Bool
	// delegates counts the agents that the call ran.
	delegates atomic.Int32
}

var (
	_ tools.Host    = (*callHost)(nil)
	_ tools.Session = (*callHost)(nil)
)

// run calls the tool. A tool that ends the goroutine with Goexit also gets a result.
func (h *callHost) run() {
	returned := false
	defer func() {
		if !returned {
			h.result = tools.ErrorResult("tool " + h.entry.ID + " ended without a result")
		}
		h.life.finish(context.Canceled)
		h.over.Store(true)
		h.batch.sendNote(note{index: h.index, result: &h.result})
	}()
	pprof.SetGoroutineLabels(h.ctx) // the goroutine may have an earlier call's labels
	h.result = h.entry.Execute(h.ctx, &h.call)
	returned = true
}

// beginPatience starts the tool's grace period after its context has ended.
func (h *callHost) beginPatience() {
	time.AfterFunc(patienceWith(h.entry), func() {
		h.over.Store(true)
		h.batch.sendNote(note{index: h.index, ended: h.life.Err()})
	})
}

// errCallOver is returned to a tool that uses its host after its call.
var errCallOver = errors.New("the tool call has ended")

// Progress shows the tool's output so far.
func (h *callHost) Progress(text string) {
	if h.over.Load() {
		return
	}
	h.batch.sendNote(note{index: h.index, data: &event.ToolCallStreamDelta{ID: h.call.ID, Name: h.call.Tool, Delta: clip.Clean(text)}})
}

// Delegate runs another agent as part of this turn, and shows it.
func (h *callHost) Delegate(ctx context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error) {
	if h.over.Load() {
		return nil, fmt.Errorf("call agent %s: %w", req.AgentID, errCallOver)
	}
	if h.entry.Descriptor.EffectClass() != tools.Once {
		return nil, &DelegateEffectError{Tool: h.call.Tool, Agent: req.AgentID}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })() // a tool may have passed another context
	req.CallID, req.Number, req.Events = h.call.ID, int(h.delegates.Add(1)), event.SinkFunc(h.relayEvent)
	if h.batch.isJournaled() {
		req.Keep = h.keepState
	}
	h.showActivity(&event.DelegateActivity{Agent: req.AgentID, State: event.DelegateRunning})
	result, err := h.batch.host.Delegate(ctx, req)
	if err != nil {
		h.showActivity(&event.DelegateActivity{Agent: req.AgentID, State: string(event.StatusFailed), Detail: err.Error()})
		return nil, err
	}
	h.showActivity(&event.DelegateActivity{
		Agent: req.AgentID, State: string(result.Status), Steps: result.Steps,
		ToolCalls: result.Agents.ToolCalls(), Usage: result.Usage, Cost: result.Cost,
	})
	h.batch.sendNote(note{index: h.index, delegated: result})
	return result, nil
}

// relayEvent passes a delegate's event to the turn's goroutine. It drops pieces of arguments:
// tool_call_ready has them all.
func (h *callHost) relayEvent(ev event.Event) {
	if _, piece := ev.Data.(*event.ToolCallDelta); !piece && !h.over.Load() {
		h.batch.sendNote(note{index: h.index, event: &ev})
	}
}

// DelegateEffectError reports that a tool with repeatable calls tried to run an agent: the agent
// would repeat its own calls with other keys.
type DelegateEffectError struct {
	Tool, Agent string
}

// Error names the tool and the agent.
func (e *DelegateEffectError) Error() string {
	return fmt.Sprintf("call agent %s: tool %s must have the effect %q to run agents", e.Agent, e.Tool, tools.Once)
}

// Keep stores the state from which the call continues if the process dies.
func (h *callHost) Keep(ctx context.Context, state json.RawMessage) error {
	switch {
	case h.over.Load():
		return errCallOver
	case !h.batch.isJournaled() || h.entry.Descriptor.EffectClass() == tools.Read:
		return nil
	}
	return h.keepState(ctx, state)
}

// keepState stores the state from which the call continues if the process dies.
func (h *callHost) keepState(ctx context.Context, state json.RawMessage) error {
	asked := &keepRequest{ctx: ctx, state: state, answer: make(chan error, 1)}
	h.batch.sendNote(note{index: h.index, keep: asked})
	select {
	case err := <-asked.answer:
		return err
	case <-h.batch.overSignal():
		return errCallOver
	}
}

// UpdateCustom changes the session's custom state. It fails after the call has ended.
func (h *callHost) UpdateCustom(change func(custom json.RawMessage) (json.RawMessage, error)) error {
	err := h.Session.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) {
		next, err := change(custom)
		if err == nil && h.over.Load() {
			err = errCallOver
		}
		return next, err
	})
	if err == nil {
		h.batch.sendNote(note{index: h.index, session: true})
	}
	return err
}

// KeepArtifact stores an artifact in the session. It fails after the call has ended.
func (h *callHost) KeepArtifact(a tools.Artifact) (string, error) {
	if h.over.Load() {
		return "", errCallOver
	}
	id, err := h.Session.KeepArtifact(a)
	if err == nil {
		h.batch.sendNote(note{index: h.index, session: true})
	}
	return id, err
}

// Handoff requests that another agent take over.
func (h *callHost) Handoff(ctx context.Context, agentID string) error {
	if h.over.Load() {
		return fmt.Errorf("hand off to agent %s: %w", agentID, errCallOver)
	}
	asked := &handOffRequest{agent: agentID, answer: make(chan error, 1)}
	h.batch.sendNote(note{index: h.index, handOff: asked})
	select {
	case err := <-asked.answer:
		return err
	case <-h.batch.overSignal():
		return fmt.Errorf("hand off to agent %s: %w", agentID, errCallOver)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *callHost) showActivity(d *event.DelegateActivity) {
	content, err := json.Marshal(d)
	if err != nil {
		content = fmt.Appendf(nil, "%q", err)
	}
	h.batch.sendNote(note{index: h.index, data: &event.ActivitySnapshot{
		MessageID: h.call.ID, ActivityType: event.ActivityDelegate, Content: content,
	}})
}
