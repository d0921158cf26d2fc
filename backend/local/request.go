package local

import (
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// buildRequest builds the next request from the conversation and the plugins' plan.
func (t *turn) buildRequest() (*model.Request, error) {
	t.plan = t.engine.TakeRequest()
	req := &model.Request{
		Model: t.env.Upstream, Messages: t.transcript, Tools: t.env.Offered,
		SessionID: t.job.SessionID, TurnID: t.job.TurnID, Cache: t.wantsCaching(),
		Edits: t.agent.Request, Params: t.agentParams().Merge(t.job.Params),
	}
	if t.form != nil {
		req.Output = t.form.Spec
	}
	if t.env.Calling.First != nil && t.stats.Steps == 1 {
		req.ToolChoice = *t.env.Calling.First
	}
	if t.withoutTools {
		req.ToolChoice = model.ToolChoice{Mode: model.ToolsNone}
	}
	if t.plan != nil {
		t.applyPlan(req, t.plan)
	}
	if limit := t.env.ModelOutput; limit > 0 {
		req.MaxOutputTokens = min(req.MaxOutputTokens, limit)
	}
	if len(t.notes) > 0 {
		req.Messages = append(slices.Clip(req.Messages), t.notes...)
		t.notes = nil
	}
	t.watch.beginPhase(plugins.BeforeInference)
	messages, err := t.engine.Transform(req.Messages, req.Tools)
	t.watch.endPhase()
	if err != nil {
		return nil, err
	}
	req.Messages = messages
	return req, nil
}

// agentParams returns the agent's parameters.
func (t *turn) agentParams() model.Params {
	p := model.OptionParams(&t.agent.ModelOptions)
	p.ReasoningEffort, p.MaxOutputTokens = t.agent.ReasoningEffort, t.env.MaxOutput
	return p
}

// wantsCaching reports whether to request caching of the request's start.
func (t *turn) wantsCaching() bool {
	p := t.agent.ContextPolicy
	return p == nil || p.EnablePromptCache == nil || *p.EnablePromptCache
}

// applyPlan applies the plugins' plan to a request. The conversation does not change.
func (t *turn) applyPlan(req *model.Request, plan *plugins.RequestPlan) {
	if plan.Model != "" && !t.env.Pool {
		req.Model = plan.Model
	}
	req.Params = req.Merge(plan.Params)
	if plan.WithoutTools {
		t.withoutTools, req.ToolChoice = true, model.ToolChoice{Mode: model.ToolsNone}
	}
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

// withContext returns the conversation with the plugins' context messages inserted.
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
