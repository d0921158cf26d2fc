package agentruns

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// composer creates turns from requests for runs.
type composer struct {
	// set has the declared entries.
	set *registry.Set
	// current is the agent that has the conversation of the session; empty for a run
	// without a session.
	current  string
	settings Settings
	// guarded returns the tools that agents guard.
	guarded func() (map[string]string, error)
}

// composeTurn returns the turn for a request, without its session and id. For a session, which has
// no input, it checks whether runs are possible. The error is a *requestError.
func (c *composer) composeTurn(caller service.Caller, r *request) (*service.CreateTurn, error) {
	turn := &service.CreateTurn{
		Background: true, TextHistory: true, InteractionTimeout: c.settings.LocalToolTimeout, OnTimeout: service.TimeoutFails,
	}
	usable := service.NewCatalog(c.set, caller)
	agent, err := c.composeAgent(usable, r)
	if err != nil {
		return nil, err
	}
	chosen, err := c.chooseTools(usable, agent, r)
	if err != nil {
		return nil, err
	}
	turn.AgentID, turn.Addressed = r.AgentID, r.AgentID != ""
	if agent == nil || r.needsEphemeral() {
		if turn.Ephemeral, err = c.newEphemeral(agent, r, chosen); err != nil {
			return nil, err
		}
	}
	turn.Overrides = c.turnOverrides(agent, r, chosen)
	if r.effort != nil {
		effort := spec.EffortPercent(*r.effort)
		turn.Params.ReasoningEffort = &effort
	}
	turn.Before, turn.Input, _ = surfacekit.SplitInput(modelMessages(r.messages)) // only sessions have no input
	return turn, nil
}

// composeAgent returns the declared agent that the request names, with the defaults merged
// under it; nil when it names none.
func (c *composer) composeAgent(usable *service.Catalog, r *request) (*spec.Agent, error) {
	if r.AgentID == "" {
		return nil, nil //nolint:nilnil // the request brings its agent along
	}
	declared, err := usable.Agent(r.AgentID)
	if err != nil {
		return nil, noAgent(r.AgentID)
	}
	if c.current != "" && c.current != r.AgentID {
		declared = c.handOver(declared, r)
	}
	if !declared.UsesTools() && r.needsEphemeral() {
		return nil, newInvalid("agent %q runs elsewhere, which alone decides about its model and tools", r.AgentID)
	}
	if asked := r.limitNames(); !declared.UsesTools() && len(asked) > 0 {
		return nil, newInvalid("agent %q runs elsewhere, which alone decides about %s", r.AgentID, strings.Join(asked, ", "))
	}
	agent, _ := c.set.Defaults.Apply(declared)
	if agent.SystemPrompt != "" && r.SystemPrompt != "" {
		r.warnings = append(r.warnings, warning{fieldSystemPrompt, fmt.Sprintf("agent %q already has a prompt, which is used instead", r.AgentID)})
	}
	return agent, nil
}

// handOver returns the agent to which the conversation was handed over, which callers need not be
// allowed to use. The session's model and prompt are for its first agent.
func (c *composer) handOver(first *spec.Agent, r *request) *spec.Agent {
	current, ok := c.set.Agent(c.current)
	if !ok {
		return first
	}
	r.ModelID, r.SystemPrompt = "", ""
	return current
}

// limitNames names the limits and parameters in the request.
func (r *request) limitNames() []string {
	var asked []string
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"reasoningLevel", r.effort != nil},
		{"budgets.maxToolTurns", r.MaxToolTurns > 0},
		{"budgets.maxToolTurnsExceeded", r.MaxToolTurnsExceeded != ""},
		{"loopDetection", r.loop != nil},
		{fieldToolBudgets, r.toolBudgets != nil},
		{"outputSchema", r.output != nil},
	} {
		if f.given {
			asked = append(asked, f.name)
		}
	}
	return asked
}

// needsEphemeral reports whether a declared agent must be changed for the request. A prompt is used
// only if the agent has none; that is unknown here, so it counts.
func (r *request) needsEphemeral() bool {
	return len(r.tools) > 0 || r.ModelID != "" || r.SystemPrompt != ""
}

// newEphemeral returns the turn's ephemeral agent: the request's agent, or a declared one with
// the request's additions.
func (c *composer) newEphemeral(declared *spec.Agent, r *request, chosen *chosenTools) (*service.Ephemeral, error) {
	agent := c.baseAgent(declared, r)
	if declared != nil && declared.Hosted() && r.ModelID != "" {
		agent.UseModel(r.ModelID) // its provider knows the names
	} else if declared == nil || r.ModelID != "" {
		var err error
		if agent.ModelID, err = modelsOf(c.set, c.settings.DefaultModel).findModel(r.ModelID); err != nil {
			return nil, err
		}
	}
	chosen.allowIn(agent)
	return &service.Ephemeral{Agent: *agent, Tools: chosen.brought}, nil
}

// baseAgent returns a copy of the agent that the request adds to. Without a declared agent, retries
// of model calls follow the defaults of agents, or an empty section retry.
func (c *composer) baseAgent(declared *spec.Agent, r *request) *spec.Agent {
	if declared != nil {
		agent := declared.Clone()
		agent.SystemPrompt = cmp.Or(agent.SystemPrompt, spec.QuotePrompt(r.SystemPrompt))
		return agent
	}
	off := spec.EffortPercent(0)
	agent, _ := c.set.Defaults.Apply(&spec.Agent{
		ID: spec.EphemeralAgent, Description: r.Name, SystemPrompt: spec.QuotePrompt(r.SystemPrompt), ReasoningEffort: &off,
		MaxContinuationRetries: new(int),     // clients learn of truncated answers
		AllowedTools:           spec.Names{}, // it has only the registry tools that it names
	})
	agent = agent.Clone()
	if _, has := agent.Sections[resolve.RetryKey]; !has {
		// Requests have no setting for retries of model calls.
		if agent.Sections == nil {
			agent.Sections = make(spec.Sections, 1)
		}
		agent.Sections[resolve.RetryKey] = json.RawMessage("{}")
	}
	return agent
}

// turnOverrides returns the limits of the turn, and its output format, which a vendor without
// support for one may ignore. A run that was truncated, or used up its tool turns, has failed: none
// of it becomes part of the session. None of this applies to an agent that runs at a peer.
func (c *composer) turnOverrides(agent *spec.Agent, r *request, chosen *chosenTools) resolve.Overrides {
	if agent != nil && !agent.UsesTools() {
		return resolve.Overrides{}
	}
	o := resolve.Overrides{OnMaxRounds: spec.MaxRoundsFails, OnTruncation: spec.TruncationFails}
	if exceeded := r.MaxToolTurnsExceeded; exceeded == finalizes || exceeded == "" && agent != nil && agent.OnMaxRounds == spec.MaxRoundsFinalizes {
		o.OnMaxRounds = spec.MaxRoundsFinalizes
	}
	if r.MaxToolTurns > 0 || agent == nil {
		// The answer after the last turn with tools is also a step.
		rounds := cmp.Or(r.MaxToolTurns, defaultMaxToolTurns) + 1
		o.MaxRounds = &rounds
	}
	if o.LoopDetection = r.loop; r.loop == nil && (agent == nil || agent.LoopDetection == nil) {
		o.LoopDetection = &spec.LoopDetection{}
	}
	if r.toolBudgets != nil || agent == nil || agent.ToolBudgets == nil {
		o.ToolBudgets = c.toolBudgets(agent, r, chosen)
	}
	if r.output != nil {
		o.Output = &spec.OutputSchema{Name: r.output.Name, Schema: r.output.Schema, OnMismatch: spec.MismatchAccepted}
	}
	return o
}

// toolBudgets returns the budgets of a run: the agent's, or those of the settings for the
// available tools, overridden by the spec's. An empty map in the spec removes them.
func (c *composer) toolBudgets(agent *spec.Agent, r *request, chosen *chosenTools) map[string]spec.ToolBudget {
	budgets := make(map[string]spec.ToolBudget, len(r.toolBudgets))
	if r.toolBudgets != nil && len(r.toolBudgets) == 0 {
		return budgets
	}
	for name, calls := range r.toolBudgets {
		if id := modelName(name); slices.Contains(chosen.ids, id) {
			name = id
		}
		budgets[name] = spec.ToolBudget{MaxCalls: calls}
	}
	under := c.standardBudgets(chosen)
	if agent != nil && agent.ToolBudgets != nil {
		under = agent.ToolBudgets
	}
	for _, name := range slices.Sorted(maps.Keys(under)) {
		if _, given := budgets[name]; !given && len(budgets) < maxToolBudgets {
			budgets[name] = under[name]
		}
	}
	return budgets
}

// standardBudgets returns the settings' budgets for the available tools.
func (c *composer) standardBudgets(chosen *chosenTools) map[string]spec.ToolBudget {
	budgets := make(map[string]spec.ToolBudget)
	for name, calls := range c.settings.ToolBudgets {
		if _, global := c.set.Tools.Get(name); global || slices.Contains(chosen.ids, name) {
			budgets[name] = spec.ToolBudget{MaxCalls: calls}
		}
	}
	return budgets
}

// modelMessages returns the messages in the model's form.
func modelMessages(messages []inputMessage) []model.Message {
	all := make([]model.Message, len(messages))
	for i, m := range messages {
		all[i] = model.Message{Role: model.Role(m.Role), Parts: m.files}
		if m.Content != "" || len(m.files) == 0 {
			all[i].Parts = append([]model.Part{model.Text(m.Content)}, m.files...)
		}
	}
	return all
}

// chosenTools are the tools that a request names.
type chosenTools struct {
	// ids are the known ids, and prefixes are prefixes of other ids.
	ids, prefixes []string
	// reserved are registry tools that only look like one of the others.
	reserved []string
	brought  []service.EphemeralTool
}

// chooseTools finds a request's tools for an agent, which is nil if the request defines it.
func (c *composer) chooseTools(usable *service.Catalog, agent *spec.Agent, r *request) (*chosenTools, error) {
	chosen := new(chosenTools)
	offered := sync.OnceValue(usable.Tools)
	withheld := sync.OnceValues(func() (map[string]string, error) { return c.withheldTools(agent) })
	for i := range r.tools {
		ref := &r.tools[i]
		switch ref.Kind {
		case kindMantyx, kindPlugin:
			id, err := c.declaredTool(ref, offered())
			if err != nil {
				return nil, err
			}
			reasons, err := withheld()
			if err != nil {
				return nil, err
			}
			if reason, refused := reasons[id]; refused {
				return nil, newInvalid("tool %q cannot be named in a request: %s", clip.Text(id), reason)
			}
			chosen.ids = append(chosen.ids, id)
			continue
		case kindMCP:
			chosen.prefixes = append(chosen.prefixes, ref.idPrefix())
		default:
			chosen.ids = append(chosen.ids, ref.claimedIDs()...)
		}
		chosen.brought = append(chosen.brought, service.EphemeralTool{Kind: ref.Kind, Config: ref.raw})
	}
	for _, id := range c.set.Tools.IDs() {
		if slices.ContainsFunc(chosen.prefixes, func(prefix string) bool { return strings.HasPrefix(id, prefix) }) && !slices.Contains(chosen.ids, id) {
			chosen.reserved = append(chosen.reserved, id)
		}
	}
	return chosen, nil
}

// withheldTools returns the declared tools that a request may not name, each with the reason. It
// may name all tools of the agent, whose rules apply to them.
func (c *composer) withheldTools(agent *spec.Agent) (map[string]string, error) {
	guarded, err := c.guarded()
	if err != nil {
		return nil, err
	}
	withheld, err := toolgrant.WithoutAgent(c.set, c.settings.Tools, guarded, "server.agent_runs.tools does not list it")
	if err != nil || agent == nil {
		return withheld, err
	}
	filter, _ := toolset.CompileFilter(agent) // an invalid pattern matches nothing
	maps.DeleteFunc(withheld, func(id, _ string) bool { return filter.Decide(id).Visible })
	return withheld, nil
}

// declaredTool returns the id of a registry tool. A plugin is a tool server, and its tools are
// found by the names that it gives them.
func (c *composer) declaredTool(ref *toolRef, offered []string) (string, error) {
	if ref.Kind == kindMantyx {
		if slices.Contains(offered, ref.ID) {
			return ref.ID, nil
		}
		return "", unknownTool(codeInvalidRequest, "there is no tool %q", ref.ID, offered)
	}
	if slices.Contains(offered, ref.Name) {
		return ref.Name, nil
	}
	if plugin, tool, ok := strings.Cut(strings.TrimPrefix(ref.Name, "@"), "/"); ok {
		for _, id := range offered {
			if c.set.Tools.Owner(id) == plugin && (id == tool || strings.HasSuffix(id, "__"+tool)) {
				return id, nil
			}
		}
	}
	return "", unknownTool(codeInvalidPlugin, "the tool %q of a plugin is not installed", ref.Name, offered)
}

func unknownTool(code, format, name string, offered []string) error {
	e := &requestError{Code: code, Message: fmt.Sprintf(format, clip.Text(name))}
	if near, ok := nearest.Of(name, offered); ok {
		e.Hint, e.Candidates = fmt.Sprintf("did you mean %q?", near), []string{near}
	}
	return e
}

// allowIn adds the tools to those that the agent may use. A tool in the request overrides the
// agent's tool with the same name.
func (t *chosenTools) allowIn(agent *spec.Agent) {
	if agent.AllowedTools != nil || agent.AllowedToolPatterns != nil {
		agent.AllowedTools = append(slices.Clip(agent.AllowedTools), t.ids...)
		for _, prefix := range t.prefixes {
			agent.AllowedToolPatterns = append(slices.Clip(agent.AllowedToolPatterns), prefix+"*")
		}
		agent.ExcludedTools = append(slices.Clip(agent.ExcludedTools), t.reserved...)
	}
	agent.ExcludedTools = slices.DeleteFunc(slices.Clone(agent.ExcludedTools), func(id string) bool { return slices.Contains(t.ids, id) })
}
