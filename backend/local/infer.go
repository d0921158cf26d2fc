package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
)

// inferAnswer requests a step's answer from the model. An answer cut off by the output limit is
// continued as often as the agent allows.
func (t *turn) inferAnswer(ctx context.Context) (model.Message, error) {
	req, err := t.buildRequest()
	if err != nil {
		return model.Message{}, err
	}
	complete, err := t.callModel(ctx, req)
	if err != nil {
		return model.Message{}, err
	}
	answer := t.answer.Message()
	t.tellOmitted()
	if t.answer.Reason == model.FinishMaxTokens {
		if answer, complete, err = t.continueAnswer(ctx, req, answer, complete); err != nil {
			return model.Message{}, err
		}
	}
	for i := range answer.Parts {
		if call := answer.Parts[i].ToolCall; answer.Parts[i].Type == model.PartToolCall {
			t.host.Emit(&event.ToolCallReady{ID: call.ID, Name: call.Name, Arguments: call.Arguments, Repair: string(call.Repair)})
		}
	}
	t.host.Emit(complete)
	return answer, nil
}

// continueAnswer requests the rest of an answer cut off by the output limit. It returns the whole
// answer and the event that closes the last call.
func (t *turn) continueAnswer(ctx context.Context, req *model.Request, answer model.Message, complete *event.InferenceComplete) (model.Message, *event.InferenceComplete, error) {
	for t.answer.Reason == model.FinishMaxTokens {
		note := t.dropIncompleteCall(&answer)
		if note == "" || t.continuations >= t.agent.ContinuationRetries() {
			break
		}
		t.continuations++
		t.host.Emit(complete)
		var err error
		if complete, err = t.callModel(ctx, continuationRequest(req, &answer, note)); err != nil {
			t.response = answer.Text() + t.answer.Text()
			return model.Message{}, nil, err
		}
		answer = joinAnswers(answer, t.answer.Message())
		t.tellOmitted()
	}
	return answer, complete, nil
}

// tellOmitted reports the calls of an answer beyond its limit: to the
// model, after the results of the executed calls, and to the log. They are not part
// of the conversation: vendors reject a call without a result.
func (t *turn) tellOmitted() {
	omitted := t.answer.Omitted()
	if omitted == 0 {
		return
	}
	text := fmt.Sprintf("%d more calls were not made: one answer may make %d tool calls. Make those that are still needed in further answers.", omitted, t.answer.MaxCalls)
	t.host.Emit(&event.ToolCallsOmitted{Omitted: omitted, MaxCalls: t.answer.MaxCalls, Message: text})
	t.notes = append(t.notes, model.User(text))
}

// callModel makes one model call, streams its answer, and returns the event that closes it.
func (t *turn) callModel(ctx context.Context, req *model.Request) (*event.InferenceComplete, error) {
	if err := t.meter.Exceeded(); err != nil {
		return nil, err
	}
	if err := t.meter.BeginModelCall(); err != nil {
		return nil, err
	}
	begun := time.Now()
	t.stats.ModelCalls++
	t.answer.Reset(t.stats.ModelCalls)
	t.failure, t.over = nil, ctx.Done()
	// The stream is called with a function made once per turn instead of being
	// ranged over, which would put the loop's variables on the heap each time.
	if _, none := t.env.Model.(model.NoModel); none {
		t.call = nil
	} else {
		ctx, t.call = t.span.StartModel(ctx, telemetry.Inference{
			Provider: t.env.Provider, ModelID: t.env.ModelID, AgentID: t.agent.ID, Request: req,
		})
	}
	if keep := t.job.KeepRequest; keep != nil {
		keep(ctx, &backend.ModelCall{AgentID: t.agent.ID, MessageID: t.answerID(), Number: t.stats.ModelCalls, Request: req})
	}
	t.env.Model.Stream(ctx, req)(t.takeIn)
	if t.failure == nil && !t.answer.Finished {
		t.failure = &model.Error{Class: model.StreamInterrupted, Message: "the answer broke off"}
	}
	t.countInference()
	if t.failure != nil {
		t.keepPartial()
		return nil, t.modelError(ctx, req, t.failure)
	}
	return &event.InferenceComplete{
		Model: t.servedName(req), ModelID: t.servedBy(), Provider: t.servedFrom(), FinishReason: t.answer.Reason, Usage: t.answer.Usage,
		DurationMS: time.Since(begun).Milliseconds(),
	}, nil
}

// countInference counts the usage and cost of a model call, even a failed one.
func (t *turn) countInference() {
	usage, id := t.answer.Usage, t.servedBy()
	t.engine.Context.AddUsage(usage, id)
	outcome := telemetry.ModelOutcome{Reason: t.answer.Reason, Usage: usage, Err: t.failure}
	if price := t.env.Pricing[id]; price != nil {
		outcome.Cost, outcome.Currency = backend.Price(price, usage), price.CurrencyCode()
	}
	if t.span.CapturesContent() {
		answer := t.answer.Message()
		outcome.Answer = &answer
	}
	t.call.End(outcome)
}

// keepPartial adds the shown part of an interrupted answer to the turn's response.
func (t *turn) keepPartial() {
	if text := t.answer.Text(); text != "" {
		t.response = text
	}
}

// servedBy returns the id of the model that answered.
func (t *turn) servedBy() string {
	if id := t.answer.Served.ID; id != "" {
		return id
	}
	return t.env.ModelID
}

// servedFrom returns the provider of the model that answered.
func (t *turn) servedFrom() string {
	if name := t.env.Providers[t.servedBy()]; name != "" {
		return name
	}
	return t.env.Provider
}

// servedName returns the vendor's name of the model that answered.
func (t *turn) servedName(req *model.Request) string {
	if name := t.answer.Served.Upstream; name != "" {
		return name
	}
	return req.Model
}

// takeEvent applies one event of the model's stream, and reports whether to continue.
func (t *turn) takeEvent(ev model.Event, err error) bool {
	if t.failure != nil {
		return false // an executor that ignores yield's result
	}
	if ev.Type != model.EventFinish && t.isOver() {
		t.failure = context.Canceled // an executor that ignores its context
		return false
	}
	if err == nil {
		err = t.answer.Add(&ev)
	}
	if err != nil {
		t.failure = err
		return false
	}
	t.call.Observe(&ev)
	t.showDelta(&ev)
	return true
}

func (t *turn) isOver() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// modelError returns why a model call failed: the end of the turn's context, if that is the cause.
// The error for a request that was too long describes the request.
func (t *turn) modelError(ctx context.Context, req *model.Request, err error) error {
	if ended := backend.Ended(ctx); ended != nil {
		return ended
	}
	failure := model.AsError(err)
	if failure.Class == model.ContextOverflow {
		described := *failure
		described.Message = window.DescribeRejected(t.agent.ContextPolicy, t.transcript, req)
		if failure.Message != "" {
			described.Message = strings.TrimSuffix(failure.Message, ".") + "; " + described.Message
		}
		described.Err = failure
		failure = &described
	}
	return failure
}

// wasCalled reports whether an earlier step has a call with this id. Results and interactions are
// found by call id, so ids must be unique within a turn.
func (t *turn) wasCalled(id string) bool {
	for i := t.first; i < len(t.transcript); i++ {
		for j := range t.transcript[i].Parts {
			if p := &t.transcript[i].Parts[j]; p.Type == model.PartToolCall && p.ToolCall.ID == id {
				return true
			}
		}
	}
	return false
}

// showDelta emits a piece of an answer, unless it belongs to an omitted call.
func (t *turn) showDelta(ev *model.Event) {
	switch ev.Type {
	case model.EventToolCallStart, model.EventToolCallDelta, model.EventToolCallEnd, model.EventToolCallCancel:
		if t.answer.Omits(ev.Index) {
			return
		}
	default:
	}
	switch ev.Type {
	case model.EventText:
		t.host.Emit(t.newTextDelta(ev.Delta))
	case model.EventReasoning:
		t.host.Emit(&event.ReasoningDelta{Delta: ev.Delta})
	case model.EventReasoningEncrypted:
		t.host.Emit(&event.ReasoningEncrypted{Value: ev.Delta})
	case model.EventToolCallStart:
		id, name := t.answer.Call(ev.Index)
		t.host.Emit(&event.ToolCallStart{ID: id, Name: name})
	case model.EventToolCallDelta, model.EventToolCallEnd:
		if ev.Delta != "" {
			id, _ := t.answer.Call(ev.Index)
			t.host.Emit(&event.ToolCallDelta{ID: id, Delta: ev.Delta})
		}
	case model.EventToolCallCancel:
		id, name := t.answer.Call(ev.Index)
		t.host.Emit(&event.ToolCallCancel{ID: id, Name: name, Reason: ev.Delta})
	case model.EventReset:
		t.host.Emit(&event.StreamReset{Reason: ev.Delta})
	case model.EventRetry:
		if r := ev.Retry; r != nil {
			t.host.Emit(&event.ModelRetry{
				Attempt: r.Attempt, Class: string(r.Class), Plan: string(r.Plan), WaitMS: r.Wait.Milliseconds(),
			})
		}
	case model.EventFinish, model.EventServed:
	}
}

// maxDeltaRun is the maximum number of text deltas allocated together.
const maxDeltaRun = 32

// newTextDelta returns the event for a piece of text. A long answer's events are allocated in
// growing batches of up to maxDeltaRun.
func (t *turn) newTextDelta(text string) *event.TextDelta {
	if len(t.deltas) == cap(t.deltas) {
		t.deltas = make([]event.TextDelta, 0, min(max(1, 4*cap(t.deltas)), maxDeltaRun))
	}
	t.deltas = append(t.deltas, event.TextDelta{Delta: text})
	return &t.deltas[len(t.deltas)-1]
}

const (
	continueText = "Your answer was cut off by the output limit. Go on exactly where it stopped, without repeating anything."
	continueCall = "Your last tool call was cut off by the output limit and was not made. Make it again with shorter arguments, or do the work in several smaller calls."
)

// dropIncompleteCall removes the incomplete call from an answer cut off by the output limit, and
// returns the note to continue with, or "" if the answer is kept as is: a text with a required form
// cannot be continued, and complete calls are executed.
func (t *turn) dropIncompleteCall(answer *model.Message) (note string) {
	whole := len(answer.Parts)
	answer.Parts = slices.DeleteFunc(answer.Parts, func(p model.Part) bool {
		if p.Type != model.PartToolCall || json.Valid(p.ToolCall.Arguments) {
			return false
		}
		t.host.Emit(&event.ToolCallCancel{ID: p.ToolCall.ID, Name: p.ToolCall.Name, Reason: "the output limit cut it off"})
		return true
	})
	broken := len(answer.Parts) < whole
	switch {
	case answer.HasToolCalls():
		if broken {
			t.notes = append(t.notes, model.User(continueCall))
		}
		return ""
	case broken:
		return continueCall
	case t.form != nil:
		return ""
	default:
		return continueText
	}
}

// continuationRequest returns the request that continues a cut-off answer.
func continuationRequest(req *model.Request, answer *model.Message, note string) *model.Request {
	next := *req
	next.Messages = slices.Clip(req.Messages)
	if text := answer.Text(); text != "" {
		next.Messages = append(next.Messages, model.Assistant(text))
	}
	next.Messages = append(next.Messages, model.User(note))
	return &next
}

// joinAnswers joins an answer and its continuation.
func joinAnswers(answer, more model.Message) model.Message {
	parts := slices.Clone(answer.Parts)
	for _, p := range more.Parts {
		if n := len(parts); n > 0 && p.Type == model.PartText && parts[n-1].Type == model.PartText {
			parts[n-1].Text += p.Text
			continue
		}
		parts = append(parts, p)
	}
	return model.Message{Role: model.RoleAssistant, Parts: parts}
}
