package openai

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// turnRequest is what either protocol asks of an agent.
type turnRequest struct {
	agent         string
	before, input []model.Message
	// instructions are added to those of the agent.
	instructions string
	functions    []function
	// choice is whether the first answer of the model must call a tool; nil leaves it open.
	choice *model.ToolChoice
	// maxCalls is how many calls an answer of the model may make; 0 leaves it open.
	maxCalls int
	params   model.Params
	output   *spec.OutputSchema
	record   turnRecord
}

// turnRecord is what a turn keeps for the surface. A turn without one belongs to another
// protocol.
type turnRecord struct {
	// Unstored is set if the client wants nothing to be read later.
	Unstored bool `json:"unstored,omitempty"`
	// Thoughts is set if the client is shown what the model thinks, and Form if the answer
	// has one, so that nothing else may be said.
	Thoughts bool `json:"thoughts,omitempty"`
	Form     bool `json:"form,omitempty"`
	// Echo is what responses repeat of the request.
	Echo *echo `json:"echo,omitempty"`
	// TookFrom and TookTo are the items of the conversation that the turn read first, as
	// Took messages.
	TookFrom int `json:"took_from,omitempty"`
	TookTo   int `json:"took_to,omitempty"`
	Took     int `json:"took,omitempty"`
	// User and Metadata are kept for those who read the turn.
	User     string            `json:"user,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// composeTurn returns the turn that a request asks for. current is the agent that has the
// conversation; empty for a new one.
func (c *call) composeTurn(r *turnRequest, current string) (*service.CreateTurn, error) {
	set := c.settings.Service.SetFor(c.r.Context(), c.caller.Tenant)
	agent, err := service.NewCatalog(set, c.caller).Agent(r.agent)
	if err != nil {
		return nil, unknownModel(r.agent)
	}
	if current != "" && current != r.agent {
		if taken, ok := set.Agent(current); ok {
			agent = taken
		}
	}
	turn := &service.CreateTurn{AgentID: r.agent, Addressed: true, Before: r.before, Input: r.input, Params: r.params, Overrides: resolve.Overrides{Output: r.output, ToolChoice: r.choice, MaxCalls: r.maxCalls}}
	if turn.Metadata, err = own.Encode(r.record); err != nil {
		return nil, err
	}
	switch {
	case !agent.UsesTools():
		return turn, r.checkRemote(turn)
	case len(r.functions) == 0 && r.instructions == "" && r.params.MaxOutputTokens == 0:
		return turn, nil
	}
	effective, _ := set.Defaults.Apply(agent)
	brought := effective.Clone()
	if r.instructions != "" {
		brought.SystemPrompt = spec.Prompt(strings.TrimPrefix(string(brought.SystemPrompt)+"\n\n"+string(spec.QuotePrompt(r.instructions)), "\n\n"))
	}
	if r.params.MaxOutputTokens > 0 {
		brought.MaxContinuationRetries = new(int) // an answer that is cut off is told
	}
	filter, _ := toolset.CompileFilter(brought) // an invalid pattern matches nothing
	for i := range r.functions {
		name := r.functions[i].Name
		if _, taken := set.Tools.Get(name); taken && filter.Decide(name).Visible {
			return nil, badField("tools", "the agent has a tool %q of its own", clip.Text(name))
		}
		if brought.AllowedTools != nil || brought.AllowedToolPatterns != nil {
			brought.AllowedTools = append(slices.Clip(brought.AllowedTools), name)
		}
	}
	list, err := functionTools(r.functions)
	turn.Ephemeral = &service.Ephemeral{Agent: *brought, Tools: list}
	return turn, err
}

// checkRemote reports what an agent that runs elsewhere decides alone. Instructions are a
// message to it.
func (r *turnRequest) checkRemote(turn *service.CreateTurn) error {
	names := r.params.SetAmong("temperature", "top_p", "seed", "stop", "verbosity")
	switch {
	case len(r.functions) > 0, r.choice != nil, r.maxCalls > 0:
		names = append(names, "tools")
	case r.output != nil:
		names = append(names, "the format of the answer")
	case r.params.MaxOutputTokens > 0:
		names = append(names, "the output limit")
	case r.params.ReasoningEffort != nil:
		names = append(names, "the reasoning effort")
	}
	if len(names) > 0 {
		return badField("model", "agent %q runs elsewhere, which alone decides about %s", clip.Text(r.agent), strings.Join(names, ", "))
	}
	if r.instructions != "" {
		turn.Input = append([]model.Message{model.System(r.instructions)}, turn.Input...)
	}
	return nil
}
