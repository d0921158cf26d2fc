package sessions

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// composer creates the turns of a provider from requests.
type composer struct {
	*call
	from *provider
	// agent is the agent that has the conversation: the provider's own, unless it has handed over;
	// empty for a provider without one.
	agent   string
	set     *registry.Set
	entries *service.Catalog
}

// composeAgent returns the agent of a turn: the provider's agent, or one without a prompt, with
// the model and tools of the turn. It returns nil for an agent at a peer, which chooses both
// itself.
func (c *composer) composeAgent(modelName string, asked *toolgrant.Request, form bool, input []model.Message) (*service.Ephemeral, error) {
	agent, err := c.baseAgent()
	if err != nil {
		return nil, err
	}
	if !agent.UsesTools() {
		if modelName != "" || !asked.Empty() {
			return nil, badRequest("the agent of provider %q runs elsewhere, which alone decides about its model and tools", c.from.name)
		}
		return nil, nil //nolint:nilnil // it is used as it is
	}
	chosen, err := c.from.findModel(c.set, modelName)
	if err != nil {
		return nil, err
	}
	if chosen != "" {
		agent.UseModel(chosen)
	}
	if agent.Hosted() {
		return c.composeHosted(agent, asked, form, input)
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

// composeHosted returns a hosted agent with the tools of the turn. It fails if the provider lacks
// a requested capability.
func (c *composer) composeHosted(agent *spec.Agent, asked *toolgrant.Request, form bool, input []model.Message) (*service.Ephemeral, error) {
	can := c.hostedCapabilities(c.from)
	if can != nil && form && !can.Have(backend.StructuredOutput) {
		return nil, c.from.refuse(backend.StructuredOutput, "responseSchema")
	}
	if can != nil && !can.Have(backend.ToolCalls) {
		if asked.Source != "" || len(asked.Refs) > 0 {
			return nil, c.from.refuse(backend.ToolCalls, "a turn that asks for tools")
		}
		if asked.Empty() { // the safe tools are useless there
			return &service.Ephemeral{Agent: *agent}, nil
		}
	}
	if err := c.limitTools(agent, asked, input); err != nil {
		return nil, err
	}
	return &service.Ephemeral{Agent: *agent}, nil
}

// refuse returns the error of a request that needs a capability the provider lacks.
func (p *provider) refuse(lacks backend.Capability, need string) error {
	return failedPrecondition("%s", (&backend.CapabilityError{Provider: p.name, Capability: string(lacks), Need: need}).Error())
}

// baseAgent returns a copy of the provider's agent with the defaults applied.
func (c *composer) baseAgent() (*spec.Agent, error) {
	declared := &spec.Agent{ID: spec.EphemeralAgent}
	if c.from.Agent != "" {
		var err error
		if declared, err = c.entries.Agent(c.from.Agent); err != nil {
			return nil, noProvider(c.from.name)
		}
	}
	if c.agent != c.from.Agent { // callers need not be allowed to use it
		if current, ok := c.set.Agent(c.agent); ok {
			declared = current
		}
	}
	agent, _ := c.set.Defaults.Apply(declared)
	return agent.Clone(), nil
}

// limitTools restricts the agent to the turn's tools, among those that it may use.
func (c *composer) limitTools(agent *spec.Agent, asked *toolgrant.Request, input []model.Message) error {
	scope := toolgrant.Scope{Set: c.set, Usable: c.entries.Tools(), Agent: agent, Threshold: c.settings.NarrowingThreshold}
	if c.from.Agent == "" {
		guarded, err := c.settings.Service.GuardedTools(c.r.Context(), c.caller.Tenant)
		if err != nil {
			return err
		}
		if scope.Withheld, err = toolgrant.WithoutAgent(c.set, c.from.Tools, guarded, "the provider does not list it in its tools"); err != nil {
			return err
		}
	}
	grant, err := scope.Choose(asked, latestUserText(input))
	if err != nil {
		return toolError(err)
	}
	grant.Apply(agent)
	return nil
}

// latestUserText returns the text of the last user message.
func latestUserText(input []model.Message) string {
	for i := len(input) - 1; i >= 0; i-- {
		if input[i].Role == model.RoleUser {
			return input[i].Text()
		}
	}
	return ""
}

// turnOverrides returns the overrides for the output schema.
func turnOverrides(form json.RawMessage) (resolve.Overrides, error) {
	if len(form) == 0 || string(form) == "null" {
		return resolve.Overrides{}, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(form, &object) != nil {
		return resolve.Overrides{}, badRequest("responseSchema must be an object")
	}
	if _, err := schema.Compile(form); err != nil {
		return resolve.Overrides{}, badRequest("responseSchema is not a valid JSON Schema: %s", clip.Text(err.Error()))
	}
	return resolve.Overrides{Output: &spec.OutputSchema{Schema: form}}, nil
}
