package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/spec"
)

// loadPlugins is the second stage. It finds the agent's plugins, adds the runtime's own, validates
// every section that one of them claims, and registers all plugins to check that they fit together.
func (r *resolver) loadPlugins() {
	r.trace.beginStage(StagePlugins)
	defer r.trace.endStage()
	r.findPlugins()
	r.injectPlugins()
	if !r.validateSections() {
		r.broken = true
		return // a plugin must not see settings that violate its schema
	}
	env, errs := execution.Build(r.agent, r.loaded, r.sections)
	for _, err := range errs {
		r.addError(r.envBuildError(err))
		r.broken = true
	}
	r.env = env
	r.reportSilenced()
	if r.trace.isOn() {
		r.traceEnv()
	}
}

func (r *resolver) findPlugins() {
	for i, id := range r.agent.PluginIDs {
		path := r.pathOf(diag.Index("plugin_ids", i))
		r.dependOn(onPlugin, id)
		plugin, ok := r.index.set.Plugins.Get(id)
		switch {
		case !ok:
			near := r.index.nearestID("plugin", id, r.index.set.Plugins.IDs)
			r.meant = append(r.meant, near)
			r.broken = true
			r.addError(&PluginNotFoundError{Reference{ID: id, Agent: r.agent.ID, Path: path, Nearest: near}})
		case slices.Contains(r.agent.PluginIDs[:i], id):
			r.addError(diag.New(diag.InvalidValue, path, "plugin %q is listed twice", id).ForAgent(r.agent.ID))
		default:
			r.loaded = append(r.loaded, execution.Loaded{ID: id, Plugin: plugin})
			if r.trace.isOn() {
				r.trace.addChoice("loaded", "plugin", id, diag.Index("plugin_ids", i))
			}
		}
	}
}

// injectPlugins adds the runtime's own plugins.
func (r *resolver) injectPlugins() {
	r.loaded = append(r.loaded, r.ownPlugins(r.agent, func(id, why string) { r.trace.addChoice("injected", "plugin", id, why) })...)
}

// ownPlugins returns the runtime's own plugins for an agent. If tell is
// not nil, it is called with the reason for each.
func (t *template) ownPlugins(agent *spec.Agent, tell func(id, why string)) []execution.Loaded {
	var list []execution.Loaded
	add := func(id string, plugin plugins.Plugin, why string) {
		list = append(list, execution.Loaded{ID: id, Plugin: plugin, Core: true, Stateless: core.IsStateless(plugin)})
		if tell != nil {
			tell(id, why)
		}
	}
	add(core.LoopActionsID, core.LoopActions{}, "every local agent has it")
	if t.call != nil {
		add(core.SingleCallID, core.SingleCall{Approval: t.call.Approval, Asking: t.call.Asking}, "the turn makes one call")
	}
	rounds := "max_rounds " + strconv.Itoa(agent.Rounds())
	if agent.OnMaxRounds != "" {
		rounds += ", then " + string(agent.OnMaxRounds)
	}
	add(core.MaxRoundsID, core.MaxRounds{}, rounds)
	if n := len(agent.StopConditions); n > 0 {
		add(core.StopConditionsID, core.NewStopConditions(agent.StopConditions), "stop_conditions: "+strconv.Itoa(n))
	}
	if consecutive, hard := agent.LoopDetection.Thresholds(); consecutive > 0 {
		add(core.LoopDetectionID, core.NewLoopDetection(agent.LoopDetection), fmt.Sprintf("loop_detection: %d and %d", consecutive, hard))
	}
	if n := len(agent.ToolBudgets); n > 0 {
		add(core.ToolBudgetsID, core.NewToolBudgets(agent.ToolBudgets), "tool_budgets: "+strconv.Itoa(n))
	}
	if cutoff := t.knowledgeCutoff(); cutoff != "" {
		add(core.KnowledgeCutoffID, core.NewKnowledgeCutoff(cutoff), "knowledge_cutoff "+cutoff)
	}
	if agent.ContextPolicy != nil && t.executor != nil {
		add(window.ID, t.newWindow(agent), t.policyText(agent))
	}
	return list
}

// knowledgeCutoff returns the cutoff to give the model: the declared one, or the catalog's if the
// agent has the section. It is empty for none.
func (t *template) knowledgeCutoff() string {
	if !t.cutoff.Enabled {
		return ""
	}
	if _, asked := t.agent.Sections[KnowledgeCutoffKey]; asked {
		return cmp.Or(t.capabilities.KnowledgeCutoff, t.capabilities.ListedCutoff)
	}
	return t.capabilities.KnowledgeCutoff
}

// validateSections validates every section that a loaded plugin claims, decodes it for that plugin,
// and records unclaimed sections. It reports whether all were valid.
func (r *resolver) validateSections() bool {
	right := true
	for _, c := range r.index.pipeline {
		r.claimed = append(r.claimed, c.Key)
	}
	for _, l := range r.loaded {
		for _, c := range r.index.claims[l.ID] {
			r.claimed = append(r.claimed, c.Key)
			v, ok := r.decodeSection(c)
			if !ok {
				right = false
				continue
			}
			if r.sections == nil {
				r.sections = make(map[plugins.Claim]any)
			}
			r.sections[plugins.Claim{Plugin: l.ID, Key: c.Key}] = v
		}
	}
	for _, id := range r.meant {
		for _, c := range r.index.claims[id] {
			r.claimed = append(r.claimed, c.Key)
		}
	}
	return right
}

// decodeSection validates and decodes one claimed section of the agent.
func (r *resolver) decodeSection(c claim) (v any, ok bool) {
	if !r.validSection(c) {
		return nil, false
	}
	raw := r.agent.Sections[c.Key]
	path := r.pathOf(diag.Key("sections", c.Key))
	v, list, err := c.decodeSection(raw)
	if err != nil {
		r.addError(&EnvBuildError{Agent: r.agent.ID, Plugin: c.plugin, Path: path, Err: fmt.Errorf("plugin %s: %w", c.plugin, err)})
		return nil, false
	}
	for _, d := range list {
		d.Path = diag.Join(path, d.Path)
		if d.Severity == diag.Error {
			r.addError(&InvalidPluginConfigError{Agent: r.agent.ID, Plugin: c.plugin, Key: c.Key, Found: d})
		} else {
			r.addWarning(d)
		}
	}
	return v, !list.HasErrors()
}

// validSection validates a section of the agent, if present, against the schema of a plugin that
// claims it. It reports one error per violation.
func (r *resolver) validSection(c claim) bool {
	raw, present := r.agent.Sections[c.Key]
	if !present || c.schema == nil {
		return true
	}
	path := r.pathOf(diag.Key("sections", c.Key))
	found, err := c.schema.ValidateJSON(context.Background(), raw)
	if errors.As(err, new(*schema.LimitError)) {
		found, err = []schema.Violation{{Message: err.Error()}}, nil
	}
	if err != nil {
		return false // the record's own validation reports it
	}
	for _, violation := range found {
		d := diag.New(diag.InvalidPluginConfig, pathBelow(path, violation.Path), "section %q: %s", c.Key, violation.Message)
		if violation.Near != "" {
			d = d.WithHint("did you mean %q?", violation.Near)
		}
		if violation.Key {
			d = d.AtKey()
		}
		r.addError(&InvalidPluginConfigError{Agent: r.agent.ID, Plugin: c.plugin, Key: c.Key, Found: d})
	}
	if len(found) == 0 && r.trace.isOn() {
		r.trace.addChoice("validated", "section", c.Key, "against the schema of "+c.plugin)
	}
	return len(found) == 0
}

// pathBelow converts the path of a violation to a path below a section.
func pathBelow(path string, segments []string) string {
	for _, s := range segments {
		if i, err := strconv.Atoi(s); err == nil && i >= 0 && strconv.Itoa(i) == s {
			path = diag.Index(path, i)
		} else {
			path = diag.Key(path, s)
		}
	}
	return path
}

// envBuildError locates a Register error at the entry of plugin_ids that loads the plugin.
func (t *template) envBuildError(err error) error {
	e := &EnvBuildError{Agent: t.agent.ID, Err: err, Path: t.pathOf("")}
	if reg, ok := err.(*execution.RegisterError); ok { //nolint:errorlint // Build returns nothing else
		e.Plugin = reg.Plugin
		e.Path = t.pluginPath(reg.Plugin)
	}
	return e
}

// pluginPath returns the entry of plugin_ids that loads a plugin.
func (t *template) pluginPath(id string) string {
	if i := slices.Index(t.agent.PluginIDs, id); i >= 0 {
		return t.pathOf(diag.Index("plugin_ids", i))
	}
	return t.pathOf("plugin_ids")
}

// traceEnv records the registrations of the plugins.
func (r *resolver) traceEnv() {
	for _, made := range r.env.Registrations() {
		if made.Name == "" {
			r.trace.addNote("registered", made.What, "plugin "+made.Plugin)
		} else {
			r.trace.addChoice("registered", made.What, made.Name, "plugin "+made.Plugin)
		}
	}
	if len(r.agent.ActiveHookFilter) > 0 {
		r.trace.addNote("filtered", "hooks, gates, transforms and tools", "active_hook_filter "+strings.Join(r.agent.ActiveHookFilter, ", "))
	}
}
