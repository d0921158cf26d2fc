package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
)

// sample is the usage of a model call that a tool made.
type sample struct {
	usage   model.Usage
	modelID string
}

// Sample calls the agent's model for the tool. The answer is not part of the conversation.
func (h *callHost) Sample(ctx context.Context, req *model.Request) (*tools.Sampled, error) {
	if h.over.Load() {
		return nil, fmt.Errorf("ask the model: %w", errCallOver)
	}
	t := h.batch.turn
	if _, none := t.env.Model.(model.NoModel); none {
		return nil, errors.New("the agent has no model")
	}
	if err := t.meter.Exceeded(); err != nil {
		return nil, err
	}
	if err := t.meter.BeginModelCall(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	asked := t.sampleRequest(req)
	ctx, span := t.span.StartModel(ctx, telemetry.Inference{Provider: t.env.Provider, ModelID: t.env.ModelID, AgentID: t.agent.ID, Request: asked})
	var answer model.Answer
	failure := readAnswer(ctx, t.env.Model, asked, &answer)
	used := sample{answer.Usage, cmp.Or(answer.Served.ID, t.env.ModelID)}
	if e, ok := errors.AsType[*model.Error](failure); ok && e.Usage != nil {
		used.usage = *e.Usage
	}
	outcome := telemetry.ModelOutcome{Reason: answer.Reason, Usage: used.usage, Err: failure}
	if price := t.env.Pricing[used.modelID]; price != nil {
		outcome.Cost, outcome.Currency = backend.Price(price, used.usage), price.CurrencyCode()
	}
	span.End(outcome)
	t.meter.Spend(used.usage, outcome.Cost)
	h.batch.sendNote(note{index: h.index, sampled: &used})
	if failure != nil {
		return nil, failure
	}
	return &tools.Sampled{Text: answer.Text(), Model: cmp.Or(answer.Served.Upstream, t.env.Upstream), Reason: answer.Reason}, nil
}

// sampleRequest returns a tool's request with the agent's model and settings, without tools. Its
// output limits stay within the agent's.
func (t *turn) sampleRequest(req *model.Request) *model.Request {
	asked := *req
	asked.Model, asked.TurnID, asked.SessionID, asked.Edits = t.env.Upstream, t.job.TurnID, "", t.agent.Request
	asked.Tools, asked.ToolChoice, asked.Output = nil, model.ToolChoice{}, nil
	asked.Params = t.agentParams().Merge(req.Params)
	for _, limit := range []int{t.env.MaxOutput, t.env.ModelOutput} {
		if limit > 0 {
			asked.MaxOutputTokens = min(cmp.Or(asked.MaxOutputTokens, limit), limit)
		}
	}
	return &asked
}

// readAnswer reads the answer to a request.
func readAnswer(ctx context.Context, executor model.Executor, req *model.Request, answer *model.Answer) error {
	for ev, err := range executor.Stream(ctx, req) {
		if err == nil {
			err = answer.Add(&ev)
		}
		if err != nil {
			return err
		}
	}
	if !answer.Finished {
		return &model.Error{Class: model.StreamInterrupted, Message: "the answer broke off"}
	}
	return nil
}

// addSample adds the usage and cost of a tool's model call. The meter has already counted them.
func (b *batch) addSample(c *call, s *sample) {
	b.stats.ModelCalls++
	b.stats.Usage.Add(s.usage)
	cost := b.addCost(s.usage, s.modelID)
	after := c.ensureAftermath()
	after.Usage.Add(s.usage)
	if cost != nil && cmp.Or(after.Currency, cost.Currency) == cost.Currency {
		after.Currency = cost.Currency
		after.Cost += cost.Amount
	}
}
