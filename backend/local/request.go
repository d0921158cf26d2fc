package local

import (
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// buildRequest builds the next request from the conversation and the plugins' plan.
func (f *inference) buildRequest() (*model.Request, error) {
	f.plan = f.engine.TakeRequest()
	req := &model.Request{
		Model: f.env.Upstream, Messages: f.transcript, Tools: f.env.Offered,
		SessionID: f.job.SessionID, TurnID: f.job.TurnID, Cache: f.wantsCaching(),
		Edits: f.agent.Request, Params: f.agentParams().Merge(f.job.Params),
	}
	if f.form != nil {
		req.Output = f.form.Spec
	}
	if f.env.Calling.First != nil && f.stats.Steps == 1 {
		req.ToolChoice = *f.env.Calling.First
	}
	if f.withoutTools {
		req.ToolChoice = model.ToolChoice{Mode: model.ToolsNone}
	}
	if f.plan != nil {
		f.applyPlan(req, f.plan)
	}
	if limit := f.env.ModelOutput; limit > 0 {
		req.MaxOutputTokens = min(req.MaxOutputTokens, limit)
	}
	if len(f.notes) > 0 {
		req.Messages = append(slices.Clip(req.Messages), f.notes...)
		f.notes = nil
	}
	f.watch.beginPhase(plugins.BeforeInference)
	messages, err := f.engine.Transform(req.Messages, req.Tools)
	f.watch.endPhase()
	if err != nil {
		return nil, err
	}
	req.Messages = messages
	return req, nil
}

// applyPlan applies the plugins' plan to a request. The conversation does not change.
func (f *inference) applyPlan(req *model.Request, plan *plugins.RequestPlan) {
	if plan.Model != "" && !f.env.Pool {
		req.Model = plan.Model
	}
	req.Params = req.Merge(plan.Params)
	if plan.WithoutTools {
		f.withoutTools, req.ToolChoice = true, model.ToolChoice{Mode: model.ToolsNone}
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
		req.Messages = withContext(req.Messages, f.prompt, plan)
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
