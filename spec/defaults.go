package spec

import "github.com/agentruntime/agentruntime/diag"

// Defaults are merged under every local agent: a field that the agent sets wins, and each key of
// sections is taken as a whole from whichever has it, the agent first. The two allow fields count
// as one: an agent that sets either does not inherit the other, so that a default never widens it.
// So do context_policy and the section compaction, which have the same fields.
type Defaults struct {
	Agent
}

// Origin is the set of parts of a merged agent that came from the defaults, as paths
// below the agent.
type Origin map[string]bool

// Path returns where a path below an agent was written: below the defaults if its part came from
// there, otherwise below the agent at base.
func (o Origin) Path(base, rel string) string {
	segments, ok := diag.ParsePath(rel)
	if ok && len(segments) > 0 {
		top := segments[0].Key
		if top == "sections" && len(segments) > 1 {
			top = diag.Key(top, segments[1].Key)
		}
		if o[top] {
			return diag.Join("defaults", rel)
		}
	}
	return diag.Join(base, rel)
}

// Apply returns the agent with the defaults merged under it, and the fields that come from them. It
// does not modify the agent. An endpoint-backed agent is returned unchanged, because its backend
// decides everything that defaults can set. An agent at a hosted provider inherits the fields that
// it uses.
func (d *Defaults) Apply(a *Agent) (*Agent, Origin) {
	if d == nil || !a.UsesTools() {
		return a, nil
	}
	if a.Hosted() {
		d = d.withoutModel()
	}
	d = &Defaults{Agent: *d.Clone()} // each agent has its own
	m := &merge{origin: Origin{}, agent: a.Clone()}
	inheritField(m, "description", &m.agent.Description, d.Description, a.Description != "")
	inheritField(m, "model_id", &m.agent.ModelID, d.ModelID, a.ModelID != "")
	inheritField(m, "system_prompt", &m.agent.SystemPrompt, d.SystemPrompt, a.SystemPrompt != "")
	inheritList(m, "variables", &m.agent.Variables, d.Variables, a.Variables != nil)
	inheritField(m, "max_rounds", &m.agent.MaxRounds, d.MaxRounds, a.MaxRounds != nil)
	inheritField(m, "max_continuation_retries", &m.agent.MaxContinuationRetries, d.MaxContinuationRetries, a.MaxContinuationRetries != nil)
	inheritField(m, "on_max_rounds", &m.agent.OnMaxRounds, d.OnMaxRounds, a.OnMaxRounds != "")
	inheritField(m, "on_truncation", &m.agent.OnTruncation, d.OnTruncation, a.OnTruncation != "")
	inheritField(m, "reasoning_effort", &m.agent.ReasoningEffort, d.ReasoningEffort, a.ReasoningEffort != nil)
	inheritField(m, "temperature", &m.agent.Temperature, d.Temperature, a.Temperature != nil)
	inheritField(m, "top_p", &m.agent.TopP, d.TopP, a.TopP != nil)
	inheritField(m, "seed", &m.agent.Seed, d.Seed, a.Seed != nil)
	inheritList(m, "stop", &m.agent.Stop, d.Stop, a.Stop != nil)
	inheritField(m, "service_tier", &m.agent.ServiceTier, d.ServiceTier, a.ServiceTier != "")
	inheritField(m, "verbosity", &m.agent.Verbosity, d.Verbosity, a.Verbosity != "")
	inheritField(m, "request", &m.agent.Request, d.Request, a.Request != nil)
	inheritField(m, "tool_execution", &m.agent.ToolExecution, d.ToolExecution, a.ToolExecution != "")
	_, compacts := a.Sections[CompactionSection]
	ownPolicy := compacts || a.ContextPolicy != nil
	inheritField(m, "context_policy", &m.agent.ContextPolicy, d.ContextPolicy, ownPolicy)
	inheritField(m, "budgets", &m.agent.Budgets, d.Budgets, a.Budgets != nil)
	inheritField(m, "loop_detection", &m.agent.LoopDetection, d.LoopDetection, a.LoopDetection != nil)
	inheritField(m, "output_schema", &m.agent.OutputSchema, d.OutputSchema, a.OutputSchema != nil)
	inheritField(m, "a2a", &m.agent.A2A, d.A2A, a.A2A != nil)
	inheritField(m, "max_handoffs", &m.agent.MaxHandoffs, d.MaxHandoffs, a.MaxHandoffs != nil)
	inheritList(m, "handoffs", &m.agent.Handoffs, d.Handoffs, a.Handoffs != nil)
	if a.ToolBudgets == nil && d.ToolBudgets != nil {
		m.agent.ToolBudgets = d.ToolBudgets
		m.origin["tool_budgets"] = true
	}
	inheritList(m, "stop_conditions", &m.agent.StopConditions, d.StopConditions, a.StopConditions != nil)
	inheritList(m, "plugin_ids", &m.agent.PluginIDs, d.PluginIDs, a.PluginIDs != nil)
	inheritList(m, "active_hook_filter", &m.agent.ActiveHookFilter, d.ActiveHookFilter, a.ActiveHookFilter != nil)
	inheritList(m, "session_start", &m.agent.SessionStart, d.SessionStart, a.SessionStart != nil)
	inheritList(m, "delegates", &m.agent.Delegates, d.Delegates, a.Delegates != nil)
	allows := a.AllowedTools != nil || a.AllowedToolPatterns != nil
	inheritList(m, "allowed_tools", &m.agent.AllowedTools, d.AllowedTools, allows)
	inheritList(m, "allowed_tool_patterns", &m.agent.AllowedToolPatterns, d.AllowedToolPatterns, allows)
	inheritList(m, "excluded_tools", &m.agent.ExcludedTools, d.ExcludedTools, a.ExcludedTools != nil)
	inheritList(m, "excluded_tool_patterns", &m.agent.ExcludedToolPatterns, d.ExcludedToolPatterns, a.ExcludedToolPatterns != nil)
	for key, section := range d.Sections {
		if _, own := a.Sections[key]; own || key == CompactionSection && ownPolicy {
			continue
		}
		if m.agent.Sections == nil {
			m.agent.Sections = make(Sections, len(d.Sections))
		}
		m.agent.Sections[key] = section
		m.origin[diag.Key("sections", key)] = true
	}
	return m.agent, m.origin
}

// withoutModel returns the defaults without the fields that only agents with a model use.
func (d *Defaults) withoutModel() *Defaults {
	c := &Defaults{Agent: *d.Clone()}
	c.ModelID, c.ReasoningEffort, c.ContextPolicy, c.MaxContinuationRetries = "", nil, nil, nil
	c.ModelOptions = ModelOptions{}
	c.Handoffs, c.MaxHandoffs = nil, nil
	delete(c.Sections, CompactionSection)
	return c
}

// merge collects an agent and its inherited fields.
type merge struct {
	agent  *Agent
	origin Origin
}

func inheritField[T comparable](m *merge, name string, field *T, value T, own bool) {
	var zero T
	if own || value == zero {
		return
	}
	*field = value
	m.origin[name] = true
}

func inheritList[S ~[]E, E any](m *merge, name string, field *S, value S, own bool) {
	if own || value == nil {
		return
	}
	*field = value
	m.origin[name] = true
}
