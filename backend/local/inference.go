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
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
)

// inference requests the answer of a step from the model.
type inference struct {
	*turn
	// answer is reused for every model call; takeIn is takeEvent, created once. over is closed when
	// the call's context ends.
	answer  model.Answer
	takeIn  func(model.Event, error) bool
	failure error
	over    <-chan struct{}
	// deltas are the text deltas allocated last; those within its length are in use.
	deltas []event.TextDelta
	// call observes the model call; it may be nil.
	call *telemetry.ModelSpan
	// plan is the plugins' plan for the step's request; nil if absent.
	plan *plugins.RequestPlan
}

// requestAnswer requests a step's answer from the model. An answer cut off by the output limit is
// continued as often as the agent allows.
func (f *inference) requestAnswer(ctx context.Context) (model.Message, error) {
	req, err := f.buildRequest()
	if err != nil {
		return model.Message{}, err
	}
	complete, err := f.callModel(ctx, req)
	if err != nil {
		return model.Message{}, err
	}
	answer := f.answer.Message()
	f.tellOmitted()
	if f.answer.Reason == model.FinishMaxTokens {
		if answer, complete, err = f.continueAnswer(ctx, req, answer, complete); err != nil {
			return model.Message{}, err
		}
	}
	for i := range answer.Parts {
		if call := answer.Parts[i].ToolCall; answer.Parts[i].Type == model.PartToolCall {
			f.host.Emit(&event.ToolCallReady{ID: call.ID, Name: call.Name, Arguments: call.Arguments, Repair: string(call.Repair)})
		}
	}
	f.host.Emit(complete)
	return answer, nil
}

// continueAnswer requests the rest of an answer cut off by the output limit. It returns the whole
// answer and the event that closes the last call.
func (f *inference) continueAnswer(ctx context.Context, req *model.Request, answer model.Message, complete *event.InferenceComplete) (model.Message, *event.InferenceComplete, error) {
	for f.answer.Reason == model.FinishMaxTokens {
		note := f.dropIncompleteCall(&answer)
		if note == "" || f.continuations >= f.agent.ContinuationRetries() {
			break
		}
		f.continuations++
		f.host.Emit(complete)
		var err error
		if complete, err = f.callModel(ctx, continuationRequest(req, &answer, note)); err != nil {
			f.response = answer.Text() + f.answer.Text()
			return model.Message{}, nil, err
		}
		answer = joinAnswers(answer, f.answer.Message())
		f.tellOmitted()
	}
	return answer, complete, nil
}

// tellOmitted reports the calls of an answer beyond its limit: to the
// model, after the results of the executed calls, and to the log. They are not part
// of the conversation: vendors reject a call without a result.
func (f *inference) tellOmitted() {
	omitted := f.answer.Omitted()
	if omitted == 0 {
		return
	}
	text := fmt.Sprintf("%d more calls were not made: one answer may make %d tool calls. Make those that are still needed in further answers.", omitted, f.answer.MaxCalls)
	f.host.Emit(&event.ToolCallsOmitted{Omitted: omitted, MaxCalls: f.answer.MaxCalls, Message: text})
	f.notes = append(f.notes, model.User(text))
}

// callModel makes one model call, streams its answer, and returns the event that closes it.
func (f *inference) callModel(ctx context.Context, req *model.Request) (*event.InferenceComplete, error) {
	if err := f.meter.Exceeded(); err != nil {
		return nil, err
	}
	if err := f.meter.BeginModelCall(); err != nil {
		return nil, err
	}
	begun := time.Now()
	f.stats.ModelCalls++
	f.answer.Reset(f.stats.ModelCalls)
	f.failure, f.over = nil, ctx.Done()
	// The stream is called with a function made once per turn instead of being
	// ranged over, which would put the loop's variables on the heap each time.
	if _, none := f.env.Model.(model.NoModel); none {
		f.call = nil
	} else {
		ctx, f.call = f.span.StartModel(ctx, telemetry.Inference{
			Provider: f.env.Provider, ModelID: f.env.ModelID, AgentID: f.agent.ID, Request: req,
		})
	}
	if keep := f.job.KeepRequest; keep != nil {
		keep(ctx, &backend.ModelCall{AgentID: f.agent.ID, MessageID: f.ids.answerID(f.stats.Steps), Number: f.stats.ModelCalls, Request: req})
	}
	f.env.Model.Stream(ctx, req)(f.takeIn)
	if f.failure == nil && !f.answer.Finished {
		f.failure = &model.Error{Class: model.StreamInterrupted, Message: "the answer broke off"}
	}
	f.countInference()
	if f.failure != nil {
		f.keepPartial()
		return nil, f.modelError(ctx, req, f.failure)
	}
	return &event.InferenceComplete{
		Model: f.servedName(req), ModelID: f.servedBy(), Provider: f.servedFrom(), FinishReason: f.answer.Reason, Usage: f.answer.Usage,
		DurationMS: time.Since(begun).Milliseconds(),
	}, nil
}

// countInference counts the usage and cost of a model call, even a failed one.
func (f *inference) countInference() {
	usage, id := f.answer.Usage, f.servedBy()
	f.engine.Context.AddUsage(usage, id)
	outcome := telemetry.ModelOutcome{Reason: f.answer.Reason, Usage: usage, Err: f.failure}
	if price := f.env.Pricing[id]; price != nil {
		outcome.Cost, outcome.Currency = backend.Price(price, usage), price.CurrencyCode()
	}
	if f.span.CapturesContent() {
		answer := f.answer.Message()
		outcome.Answer = &answer
	}
	f.call.End(outcome)
}

// keepPartial adds the shown part of an interrupted answer to the turn's response.
func (f *inference) keepPartial() {
	if text := f.answer.Text(); text != "" {
		f.response = text
	}
}

// servedBy returns the id of the model that answered.
func (f *inference) servedBy() string {
	if id := f.answer.Served.ID; id != "" {
		return id
	}
	return f.env.ModelID
}

// servedFrom returns the provider of the model that answered.
func (f *inference) servedFrom() string {
	if name := f.env.Providers[f.servedBy()]; name != "" {
		return name
	}
	return f.env.Provider
}

// servedName returns the vendor's name of the model that answered.
func (f *inference) servedName(req *model.Request) string {
	if name := f.answer.Served.Upstream; name != "" {
		return name
	}
	return req.Model
}

// takeEvent applies one event of the model's stream, and reports whether to continue.
func (f *inference) takeEvent(ev model.Event, err error) bool {
	if f.failure != nil {
		return false // an executor that ignores yield's result
	}
	if ev.Type != model.EventFinish && f.isOver() {
		f.failure = context.Canceled // an executor that ignores its context
		return false
	}
	if err == nil {
		err = f.answer.Add(&ev)
	}
	if err != nil {
		f.failure = err
		return false
	}
	f.call.Observe(&ev)
	f.showDelta(&ev)
	return true
}

func (f *inference) isOver() bool {
	select {
	case <-f.over:
		return true
	default:
		return false
	}
}

// modelError returns why a model call failed: the end of the turn's context, if that is the cause.
// The error for a request that was too long describes the request.
func (f *inference) modelError(ctx context.Context, req *model.Request, err error) error {
	if ended := backend.Ended(ctx); ended != nil {
		return ended
	}
	failure := model.AsError(err)
	if failure.Class == model.ContextOverflow {
		described := *failure
		described.Message = window.DescribeRejected(f.agent.ContextPolicy, f.transcript, req)
		if failure.Message != "" {
			described.Message = strings.TrimSuffix(failure.Message, ".") + "; " + described.Message
		}
		described.Err = failure
		failure = &described
	}
	return failure
}

// showDelta emits a piece of an answer, unless it belongs to an omitted call.
func (f *inference) showDelta(ev *model.Event) {
	switch ev.Type {
	case model.EventToolCallStart, model.EventToolCallDelta, model.EventToolCallEnd, model.EventToolCallCancel:
		if f.answer.Omits(ev.Index) {
			return
		}
	default:
	}
	switch ev.Type {
	case model.EventText:
		f.host.Emit(f.newTextDelta(ev.Delta))
	case model.EventReasoning:
		f.host.Emit(&event.ReasoningDelta{Delta: ev.Delta})
	case model.EventReasoningEncrypted:
		f.host.Emit(&event.ReasoningEncrypted{Value: ev.Delta})
	case model.EventToolCallStart:
		id, name := f.answer.Call(ev.Index)
		f.host.Emit(&event.ToolCallStart{ID: id, Name: name})
	case model.EventToolCallDelta, model.EventToolCallEnd:
		if ev.Delta != "" {
			id, _ := f.answer.Call(ev.Index)
			f.host.Emit(&event.ToolCallDelta{ID: id, Delta: ev.Delta})
		}
	case model.EventToolCallCancel:
		id, name := f.answer.Call(ev.Index)
		f.host.Emit(&event.ToolCallCancel{ID: id, Name: name, Reason: ev.Delta})
	case model.EventReset:
		f.host.Emit(&event.StreamReset{Reason: ev.Delta})
	case model.EventRetry:
		if r := ev.Retry; r != nil {
			f.host.Emit(&event.ModelRetry{
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
func (f *inference) newTextDelta(text string) *event.TextDelta {
	if len(f.deltas) == cap(f.deltas) {
		f.deltas = make([]event.TextDelta, 0, min(max(1, 4*cap(f.deltas)), maxDeltaRun))
	}
	f.deltas = append(f.deltas, event.TextDelta{Delta: text})
	return &f.deltas[len(f.deltas)-1]
}

const (
	continueText = "Your answer was cut off by the output limit. Go on exactly where it stopped, without repeating anything."
	continueCall = "Your last tool call was cut off by the output limit and was not made. Make it again with shorter arguments, or do the work in several smaller calls."
)

// dropIncompleteCall removes the incomplete call from an answer cut off by the output limit, and
// returns the note to continue with, or "" if the answer is kept as is: a text with a required form
// cannot be continued, and complete calls are executed.
func (f *inference) dropIncompleteCall(answer *model.Message) (note string) {
	whole := len(answer.Parts)
	answer.Parts = slices.DeleteFunc(answer.Parts, func(p model.Part) bool {
		if p.Type != model.PartToolCall || json.Valid(p.ToolCall.Arguments) {
			return false
		}
		f.host.Emit(&event.ToolCallCancel{ID: p.ToolCall.ID, Name: p.ToolCall.Name, Reason: "the output limit cut it off"})
		return true
	})
	broken := len(answer.Parts) < whole
	switch {
	case answer.HasToolCalls():
		if broken {
			f.notes = append(f.notes, model.User(continueCall))
		}
		return ""
	case broken:
		return continueCall
	case f.form != nil:
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
