package local

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// step goes through one step and returns how the turn ends, or nil when it goes
// on. Whatever happens, the calls of its answer have results when it is over.
func (t *turn) step(ctx context.Context) (ended *event.Termination, err error) {
	defer recovered(&err)
	t.stats.Steps++
	id := t.messageID("m")
	t.host.Emit(&event.StepStart{Step: t.stats.Steps, MessageID: id})
	ended, err = t.work(ctx, id)
	c := &t.engine.Context
	c.Answer, c.Call, c.Result = nil, nil, nil
	t.keepResults()
	t.host.Emit(&event.StepEnd{Step: t.stats.Steps})
	return ended, err
}

// work asks the model once and runs the tools it calls for.
func (t *turn) work(ctx context.Context, id string) (ended *event.Termination, err error) {
	defer recovered(&err)
	if err := t.phase(ctx, plugins.StepStart); err != nil {
		return nil, err
	}
	if err := t.phase(ctx, plugins.BeforeInference); err != nil {
		return nil, err
	}
	answer, err := t.infer(ctx)
	if err != nil {
		return nil, err
	}
	answer.ID = id
	if ended, err = t.settle(ctx, answer); err != nil {
		return nil, err
	}
	if err := t.finish(ctx); err != nil {
		return nil, err
	}
	return ended, nil
}

// settle keeps an answer and does what it asks for. The answer is kept before
// anything may end the turn, so a text that was shown is never lost.
func (t *turn) settle(ctx context.Context, answer *model.Message) (*event.Termination, error) {
	t.transcript = append(t.transcript, *answer)
	if text := answer.Text(); text != "" {
		t.response = text
	}
	t.calls = callsOf(answer)
	t.engine.Context.Answer = answer
	if err := t.phase(ctx, plugins.AfterInference); err != nil {
		return nil, err
	}
	switch {
	case t.stop != nil:
		t.keepResults()
		return t.stop, nil
	case len(t.calls) > 0:
		return t.runCalls(ctx)
	case t.answer.Reason == model.FinishContentFilter:
		return nil, &model.Error{Class: model.ContentFiltered, Message: "the provider withheld the answer"}
	default:
		return &event.Termination{Type: event.NaturalEnd}, nil
	}
}

// finish runs the last phase of a step and shows what its plugins remember.
func (t *turn) finish(ctx context.Context) error {
	if err := t.phase(ctx, plugins.StepEnd); err != nil {
		return err
	}
	t.showState()
	return nil
}

// infer asks the model and puts its answer together, showing it as it comes.
func (t *turn) infer(ctx context.Context) (*model.Message, error) {
	req, err := t.request()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	t.answer.Reset(t.stats.Steps)
	t.failure, t.over = nil, ctx.Done()
	// The stream is called with a function made once per turn instead of being
	// ranged over, which would put the loop's variables on the heap each time.
	t.env.Model.Stream(ctx, req)(t.takeIn)
	switch {
	case t.failure != nil:
		return nil, t.modelError(ctx, t.failure)
	case !t.answer.Finished:
		return nil, t.modelError(ctx, &model.Error{Class: model.StreamInterrupted, Message: "the answer broke off"})
	}
	t.stats.Usage.Add(t.answer.Usage)
	answer := t.answer.Message()
	for i := range answer.Parts {
		if call := answer.Parts[i].ToolCall; call != nil {
			t.host.Emit(&event.ToolCallReady{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
		}
	}
	t.host.Emit(&event.InferenceComplete{
		Model: req.Model, FinishReason: string(t.answer.Reason), Usage: event.Usage(t.answer.Usage),
		DurationMS: time.Since(begun).Milliseconds(),
	})
	return &answer, nil
}

// take takes in one event of the model's stream, and reports whether it wants
// another.
func (t *turn) take(ev model.Event, err error) bool {
	if t.failure != nil {
		return false // an executor that does not stop when it is told to
	}
	if ev.Type != model.EventFinish && t.isOver() {
		t.failure = context.Canceled // an executor that does not look at its context
		return false
	}
	if err == nil {
		err = t.answer.Add(&ev)
	}
	if err != nil {
		t.failure = err
		return false
	}
	t.show(&ev)
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

// modelError returns why a model call failed: the end of the turn's context, if
// that is the cause.
func (t *turn) modelError(ctx context.Context, err error) error {
	if ended := backend.Ended(ctx); ended != nil {
		return ended
	}
	return model.AsError(err)
}

// show emits a piece of an answer.
func (t *turn) show(ev *model.Event) {
	switch ev.Type {
	case model.EventText:
		t.host.Emit(&event.TextDelta{Delta: ev.Delta})
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
	case model.EventFinish:
	}
}

// request puts the next request together from the conversation and what the
// plugins made of it.
func (t *turn) request() (*model.Request, error) {
	t.plan, t.engine.Request = t.engine.Request, plugins.RequestPlan{}
	req := &model.Request{
		Model: t.env.Upstream, Messages: t.transcript, Tools: t.env.Offered, SessionID: t.job.SessionID,
		Params: model.Params{ReasoningEffort: t.job.Agent.ReasoningEffort}.Merge(t.job.Params),
	}
	if !t.plan.Empty() {
		t.apply(req, &t.plan)
	}
	messages, err := t.engine.Transform(req.Messages, req.Tools)
	if err != nil {
		return nil, err
	}
	req.Messages = messages
	return req, nil
}

// apply changes a request as the plugins asked for. The conversation itself
// stays as it is.
func (t *turn) apply(req *model.Request, plan *plugins.RequestPlan) {
	if plan.Model != "" && !t.env.Pool {
		req.Model = plan.Model
	}
	req.Params = req.Merge(plan.Params)
	if plan.Restrict || len(plan.Exclude) > 0 {
		offered := make([]model.Tool, 0, len(req.Tools))
		for _, tool := range req.Tools {
			if plan.Offers(tool.Name) {
				offered = append(offered, tool)
			}
		}
		req.Tools = offered
	}
	if len(plan.Context) > 0 {
		req.Messages = withContext(req.Messages, t.prompt, plan)
	}
}

// withContext returns the conversation with the plugins' context messages at
// their places.
func withContext(messages []model.Message, prompt int, plan *plugins.RequestPlan) []model.Message {
	out := make([]model.Message, 0, len(messages)+len(plan.Context))
	add := func(target plugins.Target) {
		for _, m := range plan.At(target) {
			role := m.Role
			if role == "" {
				role = model.RoleSystem
			}
			out = append(out, model.Message{Role: role, Parts: []model.Part{model.Text(m.Text)}})
		}
	}
	out = append(out, messages[:prompt]...)
	add(plugins.TargetSystem)
	rest := messages[prompt:]
	for len(rest) > 0 && rest[0].Role == model.RoleSystem {
		out = append(out, rest[0])
		rest = rest[1:]
	}
	add(plugins.TargetSession)
	add(plugins.TargetConversation)
	out = append(out, rest...)
	add(plugins.TargetSuffix)
	return out
}
