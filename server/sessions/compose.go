package sessions

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/agenttool"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// composer makes turns of what is asked for.
type composer struct {
	set       *registry.Set
	usable    *service.Catalog
	provider  *provider
	threshold int
}

// composeAgent returns the agent that works on a turn: that of the provider, or one
// without a prompt, with the model and the tools of the turn. An agent that runs elsewhere
// decides about both itself; then the result is nil.
func (c *composer) composeAgent(modelName string, asked *toolRequest, input []model.Message) (*service.Ephemeral, error) {
	agent, err := c.baseAgent()
	if err != nil {
		return nil, err
	}
	if !agent.Local() {
		if modelName != "" || asked.refs != nil || asked.source != "" {
			return nil, badRequest("the agent of provider %q runs elsewhere, which alone decides about its model and tools", c.provider.name)
		}
		return nil, nil //nolint:nilnil // it is used as it is
	}
	chosen, err := c.provider.findModel(c.set, modelName)
	if err != nil {
		return nil, err
	}
	if chosen != "" {
		agent.ModelID = chosen
	}
	if agent.ModelID == "" {
		if agent.ModelID, err = onlyModel(c.set); err != nil {
			return nil, err
		}
	}
	if err := c.limitTools(agent, asked, input); err != nil {
		return nil, err
	}
	return &service.Ephemeral{Agent: *agent}, nil
}

// baseAgent returns a copy of the provider's agent with the defaults merged under it.
func (c *composer) baseAgent() (*spec.Agent, error) {
	declared := &spec.Agent{ID: spec.EphemeralAgent}
	if c.provider.Agent != "" {
		var err error
		if declared, err = c.usable.Agent(c.provider.Agent); err != nil {
			return nil, noProvider(c.provider.name)
		}
	}
	agent, _ := c.set.Defaults.Apply(declared)
	return agent.Clone(), nil
}

// limitTools lets the agent have the tools of the turn, of those that it may have anyway.
// Those that make it reach other agents stay with the safe ones: they are the agent's, not
// the caller's to choose.
func (c *composer) limitTools(agent *spec.Agent, asked *toolRequest, input []model.Message) error {
	filter, list := toolset.CompileFilter(agent)
	if err := list.Err(); err != nil {
		return err
	}
	var visible []string
	for _, id := range c.usable.Tools() {
		if filter.Decide(id).Visible {
			visible = append(visible, id)
		}
	}
	choice := toolChoice{set: c.set, visible: visible, threshold: c.threshold}
	ids, err := choice.choose(asked, latestUserText(input))
	if err != nil {
		return err
	}
	if asked.wantsSafe() {
		for _, id := range agentToolIDs(agent) {
			if filter.Decide(id).Visible {
				ids = append(ids, id)
			}
		}
	}
	agent.AllowedTools, agent.AllowedToolPatterns = append(spec.Names{}, ids...), nil
	return nil
}

// agentToolIDs returns the ids of the tools by which an agent reaches others.
func agentToolIDs(agent *spec.Agent) []string {
	var ids []string
	for _, id := range agent.Delegates {
		ids = append(ids, agenttool.DelegateID(id))
	}
	for _, id := range agent.Handoffs {
		ids = append(ids, agenttool.HandoffID(id))
	}
	return ids
}

// latestUserText returns the text of the last message of the user.
func latestUserText(input []model.Message) string {
	for i := len(input) - 1; i >= 0; i-- {
		if input[i].Role == model.RoleUser {
			return input[i].Text()
		}
	}
	return ""
}

// turnOverrides returns the form of the answer.
func turnOverrides(schema json.RawMessage) (resolve.Overrides, error) {
	if len(schema) == 0 || string(schema) == "null" {
		return resolve.Overrides{}, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(schema, &object) != nil {
		return resolve.Overrides{}, badRequest("responseSchema must be an object")
	}
	return resolve.Overrides{Output: &spec.OutputSchema{Schema: schema}}, nil
}
