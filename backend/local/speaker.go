package local

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// speaker is the agent that has the conversation.
type speaker struct {
	// agent has the conversation, and env is its environment.
	agent  *spec.Agent
	env    *backend.ExecutionEnv
	engine *execution.Engine
}

// isOfBackend reports whether a tool belongs to the backend itself.
func (s *speaker) isOfBackend(name string) bool {
	entry := s.env.Tools.Get(name)
	return entry != nil && entry.Source.Kind == toolset.SourceBackend
}

func (s *speaker) unknownTool(name string) string {
	text := fmt.Sprintf("there is no tool %q", clip.Text(name))
	names := make([]string, 0, len(s.env.Offered))
	for i := range s.env.Offered {
		names = append(names, s.env.Offered[i].Name)
	}
	if near, ok := nearest.Of(name, names); ok {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// agentParams returns the agent's parameters.
func (s *speaker) agentParams() model.Params {
	p := model.OptionParams(&s.agent.ModelOptions)
	p.ReasoningEffort, p.MaxOutputTokens = s.agent.ReasoningEffort, s.env.MaxOutput
	return p
}

// wantsCaching reports whether to request caching of the request's start.
func (s *speaker) wantsCaching() bool {
	p := s.agent.ContextPolicy
	return p == nil || p.EnablePromptCache == nil || *p.EnablePromptCache
}

// showToHooks shows a call, and the answer it resumes with, to the hooks.
func (s *speaker) showToHooks(c *call) {
	p := &s.engine.Context
	p.Call, p.InteractionAnswer, p.Interaction = c.ToolCall, nil, nil
	if len(c.answers) > 0 {
		p.InteractionAnswer = &c.answers[0]
		if request := c.interactionByID(p.InteractionAnswer.Target); request != nil {
			p.Interaction = &request.Request
		}
	}
}

// deactivatePlugins runs the hooks of Deactivate.
func (s *speaker) deactivatePlugins(ctx context.Context) error {
	s.engine.Deactivate(ctx)
	return nil
}
