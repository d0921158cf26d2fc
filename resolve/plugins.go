package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
)

// load is the second stage. It finds the agent's plugins, adds the runtime's
// own, validates every section that one of them claims, and registers them all
// to see that they fit together.
func (t *template) load() {
	t.trace.stage(StagePlugins)
	defer t.trace.end()
	t.findPlugins()
	t.injectPlugins()
	t.validateSections()
	if t.brokenSections {
		return // a plugin must not see settings that violate its schema
	}
	env, errs := plugins.Build(t.agent, t.loaded, t.sections)
	for _, err := range errs {
		t.fail(t.envBuildError(err))
	}
	t.env = env
	if t.trace.on() {
		t.traceEnv()
	}
}

func (t *template) findPlugins() {
	for i, id := range t.agent.PluginIDs {
		path := t.path(diag.Index("plugin_ids", i))
		plugin, ok := t.index.set.Plugins.Get(id)
		switch {
		case !ok:
			near := t.index.nearest("plugin", id, t.index.set.Plugins.IDs)
			t.meant = append(t.meant, near)
			t.fail(&PluginNotFoundError{Reference{ID: id, Agent: t.agent.ID, Path: path, Nearest: near}})
		case slices.Contains(t.agent.PluginIDs[:i], id):
			t.fail(diag.New(diag.InvalidValue, path, "plugin %q is listed twice", id).ForAgent(t.agent.ID))
		default:
			t.loaded = append(t.loaded, plugins.Loaded{ID: id, Plugin: plugin})
			t.trace.add("loaded", fmt.Sprintf("plugin %q", id), "plugin_ids["+strconv.Itoa(i)+"]")
		}
	}
}

// injectPlugins adds the runtime's own plugins.
func (t *template) injectPlugins() {
	t.inject(core.LoopActionsID, core.LoopActions{}, "every local agent has it")
	rounds := t.agent.Rounds()
	t.inject(core.MaxRoundsID, core.MaxRounds{}, "max_rounds "+strconv.Itoa(rounds))
	if n := len(t.agent.StopConditions); n > 0 {
		t.inject(core.StopConditionsID, core.NewStopConditions(t.agent.StopConditions), strconv.Itoa(n)+" stop conditions")
	}
}

func (t *template) inject(id string, plugin plugins.Plugin, why string) {
	t.loaded = append(t.loaded, plugins.Loaded{ID: id, Plugin: plugin, Core: true})
	t.trace.add("injected", fmt.Sprintf("plugin %q", id), why)
}

// validateSections decodes every section that a loaded plugin claims, and warns
// of those that none does.
func (t *template) validateSections() {
	t.sections = make(map[string]any)
	claimed := make(map[string]bool)
	for _, c := range t.index.pipeline {
		claimed[c.Key] = true
	}
	for _, l := range t.loaded {
		for _, c := range t.index.claims[l.ID] {
			if claimed[c.Key] {
				continue // the first plugin's schema counts
			}
			claimed[c.Key] = true
			if v, ok := t.section(c); ok {
				t.sections[c.Key] = v
			} else {
				t.brokenSections = true
			}
		}
	}
	for _, id := range t.meant {
		for _, c := range t.index.claims[id] {
			claimed[c.Key] = true
		}
	}
	t.claimed = claimed
	for _, key := range slices.Sorted(maps.Keys(t.agent.Sections)) {
		if !claimed[key] {
			t.unclaimed = append(t.unclaimed, key)
		}
	}
}

// section validates and decodes one claimed section of the agent. It reports
// one error per violation.
func (t *template) section(c claim) (v any, ok bool) {
	raw, present := t.agent.Sections[c.Key]
	path := t.path(diag.Key("sections", c.Key))
	if present && c.schema != nil {
		found, err := c.schema.ValidateJSON(raw)
		if err != nil {
			found = []schema.Violation{{Message: err.Error()}}
		}
		for _, violation := range found {
			d := diag.New(diag.InvalidPluginConfig, below(path, violation.Path), "section %q: %s", c.Key, violation.Message)
			t.fail(&InvalidPluginConfigError{Agent: t.agent.ID, Plugin: c.plugin, Key: c.Key, Found: d})
		}
		if found != nil {
			return nil, false
		}
		t.trace.add("validated", fmt.Sprintf("section %q", c.Key), "against the schema of "+c.plugin)
	}
	if c.Decode == nil {
		return raw, true
	}
	if !present {
		raw = nil
	}
	v, list, err := decodeSection(c, raw)
	if err != nil {
		list = append(list, diag.New(diag.EnvBuild, "", "plugin %s: %v", c.plugin, err))
	}
	for _, d := range list {
		d.Path = diag.Join(path, d.Path)
		t.fail(&InvalidPluginConfigError{Agent: t.agent.ID, Plugin: c.plugin, Key: c.Key, Found: d})
	}
	return v, len(list) == 0
}

func decodeSection(c claim, raw []byte) (v any, list diag.List, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in the decoder of section %q: %v", c.Key, p)
		}
	}()
	v, list = c.Decode(raw)
	return v, list, nil
}

// below turns the path of a violation into one below a section.
func below(path string, segments []string) string {
	for _, s := range segments {
		if i, err := strconv.Atoi(s); err == nil && i >= 0 && strconv.Itoa(i) == s {
			path = diag.Index(path, i)
		} else {
			path = diag.Key(path, s)
		}
	}
	return path
}

// envBuildError places what went wrong in Register at the entry of plugin_ids
// that loads the plugin.
func (t *template) envBuildError(err error) error {
	e := &EnvBuildError{Agent: t.agent.ID, Err: err, Path: t.path("")}
	if reg, ok := err.(*plugins.RegisterError); ok { //nolint:errorlint // Build returns nothing else
		e.Plugin = reg.Plugin
		if i := slices.Index(t.agent.PluginIDs, reg.Plugin); i >= 0 {
			e.Path = t.path(diag.Index("plugin_ids", i))
		}
	}
	return e
}

// traceEnv records what the plugins registered.
func (t *template) traceEnv() {
	for _, phase := range plugins.Phases() {
		if owners := t.env.Hooks(phase); len(owners) > 0 {
			t.trace.add("hooked", phase.String(), strings.Join(owners, ", "))
		}
	}
	for _, tool := range t.env.Tools() {
		t.trace.add("registered", fmt.Sprintf("tool %q", tool.ID), "plugin "+tool.Owner)
	}
	if len(t.agent.ActiveHookFilter) > 0 {
		t.trace.add("filtered", "hooks, gates, transforms and tools", "active_hook_filter "+strings.Join(t.agent.ActiveHookFilter, ", "))
	}
}
