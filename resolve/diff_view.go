package resolve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// view is the diff's view of an agent's environment: fields with one value, and fields with named
// entries.
type view struct {
	agent   *spec.Agent
	single  []field
	hooks   []field
	plugins []field
	section []field
	// guards are the plugins and sections that may limit the agent although no gate shows it.
	guards map[string]bool
	tools  []ToolChoice
	// env has the gates that decide on calls.
	env *execution.Env
	// does identifies the behavior of callable tools, by id.
	does map[string]string
	set  *registry.Set
}

// field is a name with its value.
type field struct{ name, value string }

// viewOf returns the view of an explained agent.
func viewOf(x *explainer, e *Explanation) view {
	a, set := e.Agent, x.rev.Set()
	v := view{agent: a, set: set, single: []field{
		{"description", a.Description},
		{"endpoint", endpointText(a.Endpoint)},
		{"budgets", jsonText(a.Budgets)},
		{"model", modelText(e)},
		{"provider", providerText(set, e)},
		{"prompt", promptHash(string(a.SystemPrompt))},
	}, hooks: hookFields(a.SessionStart)}
	if !a.UsesTools() {
		return v
	}
	v.single = append(v.single,
		field{"max_rounds", strconv.Itoa(a.Rounds())},
		field{"on_max_rounds", string(a.OnMaxRounds)},
		field{"on_truncation", string(a.OnTruncation)},
		field{"max_continuation_retries", strconv.Itoa(a.ContinuationRetries())},
		field{"stop_conditions", jsonText(a.StopConditions)},
		field{"reasoning_effort", jsonText(a.ReasoningEffort)},
		field{"tool_execution", string(a.ToolExecution)},
		field{"context_policy", jsonText(a.ContextPolicy)},
		field{"loop_detection", jsonText(a.LoopDetection)},
		field{"tool_budgets", jsonText(a.ToolBudgets)},
		field{"output_schema", jsonText(a.OutputSchema)},
		field{"variables", rawjson.CompactText(a.Variables)},
		field{"a2a", jsonText(a.A2A)},
		field{"max_handoffs", strconv.Itoa(a.HandoffLimit())},
		field{"active_hook_filter", strings.Join(a.ActiveHookFilter, ", ")},
	)
	v.tools, v.env = e.Tools, e.env
	v.guards = make(map[string]bool)
	for i, p := range e.Plugins {
		if p.Core || len(a.ActiveHookFilter) > 0 && !slices.Contains(a.ActiveHookFilter, p.ID) {
			continue
		}
		v.plugins = append(v.plugins, field{p.ID, "position " + strconv.Itoa(i+1)})
		v.addGuards(&p)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Sections)) {
		v.section = append(v.section, field{key, rawjson.CompactText(a.Sections[key])})
	}
	v.does = make(map[string]string)
	for i := range e.Tools {
		if c := &e.Tools[i]; c.Rule.Visible && c.Source.Kind == toolset.SourceGlobal {
			v.does[c.ID] = x.definitionOf(c.ID)
		}
	}
	return v
}

// addGuards records what a plugin may limit without a gate. Gate decisions are compared per tool.
func (v *view) addGuards(p *execution.Loaded) {
	if v.env == nil || v.env.Gates(p.ID) {
		return
	}
	v.guards["plugin "+p.ID] = true
	for _, s := range p.Plugin.Descriptor().Sections {
		if s.Guards {
			v.guards["section "+s.Key] = true
		}
	}
}

// hookFields identifies the programs that run when a session begins, including the secrets of their
// environment.
func hookFields(hooks []spec.SessionHook) []field {
	fields := make([]field, len(hooks))
	for i := range hooks {
		h := &hooks[i]
		fields[i] = field{h.ID, shortHash(fmt.Sprintf("%q %q %v %q %v", h.Command, h.Cwd, h.Limit(), h.Env, h.Output))}
	}
	return fields
}

// providerText identifies the providers of an agent's model calls.
func providerText(set *registry.Set, e *Explanation) string {
	var models []*spec.Model
	if e.Model != nil {
		models = append(models, e.Model)
	}
	if e.Pool != nil {
		for i := range e.Pool.Members {
			if m, ok := set.Models.Get(e.Pool.Members[i].ModelID); ok {
				models = append(models, m)
			}
		}
	}
	var texts []string
	for _, m := range models {
		text := m.ProviderID
		if definition := set.Definitions[set.Providers.Path(m.ProviderID)]; definition != "" {
			text += " " + shortHash(definition)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

func endpointText(e *spec.Endpoint) string {
	if e == nil {
		return ""
	}
	text := e.Kind() + " " + e.BaseURL + " " + e.Target
	if e.Auth != nil || e.Timeout != nil || len(e.Options) > 0 {
		text += " " + shortHash(jsonText(e))
	}
	return text
}

// modelText describes the model, including the members of a pool.
func modelText(e *Explanation) string {
	switch {
	case e.Model != nil:
		return fmt.Sprintf("%s (%s at %s)", e.Model.ID, e.Model.UpstreamModel, e.Model.ProviderID)
	case e.Pool != nil:
		return fmt.Sprintf("%s (pool: %s)", e.Pool.ID, memberIDs(e.Pool))
	default:
		return ""
	}
}

// promptHash identifies a prompt without showing it.
func promptHash(prompt string) string {
	if prompt == "" {
		return ""
	}
	return shortHash(prompt)
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil || string(data) == "null" {
		return ""
	}
	return string(data)
}
