package execution

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

// Loaded is a plugin of an agent.
type Loaded struct {
	// ID is the plugin's registered id.
	ID     string
	Plugin plugins.Plugin
	// Core marks the runtime's own plugins, which no filter excludes.
	Core bool
	// Stateless marks a plugin that always registers the same and keeps no state of a turn.
	Stateless bool
}

// PluginTool is a tool that a plugin registered.
type PluginTool struct {
	Owner string
	ID    string
	Tool  tools.Tool
}

type (
	taggedHook struct {
		phase plugins.Phase
		owner string
		hook  plugins.Hook
	}
	taggedGate struct {
		owner string
		gate  plugins.Gate
	}
	taggedBatchGate struct {
		owner string
		gate  plugins.BatchGate
	}
	taggedTransform struct {
		owner     string
		transform plugins.RequestTransform
	}
	actionHandler struct {
		key    string
		phase  plugins.Phase
		owner  string
		handle plugins.ActionHandler
	}
	effectHandler struct {
		key    string
		owner  string
		handle plugins.EffectHandler
	}
	keyRegistration struct {
		owner string
		key   plugins.StateKey
	}
)

// Env holds the registrations of an agent's plugins: hooks by phase, tool gates, handlers of
// actions and effects, request transforms, state keys, and tools. It is built for every resolve
// and not shared, unless all plugins are stateless: then it never changes, and turns may share
// it.
type Env struct {
	plugins    []Loaded
	hooks      []taggedHook
	gates      []taggedGate
	batchGates []taggedBatchGate
	transforms []taggedTransform
	actions    []actionHandler
	effects    []effectHandler
	keys       []keyRegistration
	tools      []PluginTool
	// silenced are the plugins whose gates a filter excluded.
	silenced []string
	// phases has a bit for each phase with a hook.
	phases uint16
}

// Plugins returns the agent's plugins in order.
func (e *Env) Plugins() []Loaded { return e.plugins }

// Tools returns the tools that the plugins registered, in order.
func (e *Env) Tools() []PluginTool { return e.tools }

// Gates reports whether a plugin registered a gate, even one that a filter excluded.
func (e *Env) Gates(plugin string) bool {
	return slices.ContainsFunc(e.gates, func(g taggedGate) bool { return g.owner == plugin }) ||
		slices.ContainsFunc(e.batchGates, func(g taggedBatchGate) bool { return g.owner == plugin }) ||
		slices.Contains(e.silenced, plugin)
}

// Hooks returns the ids of the plugins with a hook in a phase, in the order in which the hooks run.
func (e *Env) Hooks(phase plugins.Phase) []string {
	var owners []string
	for i := range e.hooks {
		if e.hooks[i].phase == phase {
			owners = append(owners, e.hooks[i].owner)
		}
	}
	return owners
}

// Registration is one registration by a plugin.
type Registration struct {
	// What names the kind of registration: hook, gate, batch gate, transform, action handler, effect
	// handler, state key or tool.
	What string
	// Name is the phase of a hook, the key of a handler or state, or the id of a tool; empty for
	// gates and transforms.
	Name   string
	Plugin string
}

// Registrations returns all registrations of the plugins: the hooks by phase, then each other kind
// in the order of registration.
func (e *Env) Registrations() []Registration {
	var all []Registration
	for _, phase := range plugins.Phases() {
		for _, owner := range e.Hooks(phase) {
			all = append(all, Registration{What: "hook", Name: phase.String(), Plugin: owner})
		}
	}
	for i := range e.gates {
		all = append(all, Registration{What: "gate", Plugin: e.gates[i].owner})
	}
	for i := range e.batchGates {
		all = append(all, Registration{What: "batch gate", Plugin: e.batchGates[i].owner})
	}
	for i := range e.transforms {
		all = append(all, Registration{What: "transform", Plugin: e.transforms[i].owner})
	}
	for i := range e.actions {
		all = append(all, Registration{What: "action handler", Name: e.actions[i].key, Plugin: e.actions[i].owner})
	}
	for i := range e.effects {
		all = append(all, Registration{What: "effect handler", Name: e.effects[i].key, Plugin: e.effects[i].owner})
	}
	for i := range e.keys {
		all = append(all, Registration{What: "state key", Name: e.keys[i].key.ID(), Plugin: e.keys[i].owner})
	}
	for i := range e.tools {
		all = append(all, Registration{What: "tool", Name: e.tools[i].ID, Plugin: e.tools[i].Owner})
	}
	return all
}

func (e *Env) findAction(key string) int {
	return slices.IndexFunc(e.actions, func(a actionHandler) bool { return a.key == key })
}

func (e *Env) findEffect(key string) int {
	return slices.IndexFunc(e.effects, func(a effectHandler) bool { return a.key == key })
}

func (e *Env) hasKey(key plugins.StateKey) bool {
	return slices.ContainsFunc(e.keys, func(k keyRegistration) bool { return k.key == key })
}

// findKey returns the key with an id and a scope.
func (e *Env) findKey(id string, scope plugins.Scope) (plugins.StateKey, bool) {
	for i := range e.keys {
		if k := e.keys[i].key; k.ID() == id && k.Scope() == scope {
			return k, true
		}
	}
	return nil, false
}

// ToolVerdict returns the gates' decision on a tool before any call: the strictest verdict of the
// gates that can predict it.
func (e *Env) ToolVerdict(toolID string) plugins.Verdict {
	var strictest plugins.Verdict
	for i := range e.gates {
		static, ok := e.gates[i].gate.(plugins.StaticGate)
		if !ok {
			continue
		}
		if v := askVerdict(func() plugins.Verdict { return static.Verdict(toolID) }); v.Access > strictest.Access {
			v.Plugin = e.gates[i].owner
			strictest = v
		}
	}
	return strictest
}

// CallVerdict returns the gates' decision on a call before it is made: the strictest verdict of
// the gates that can predict it. silent are the plugins of the other gates.
func (e *Env) CallVerdict(toolID string, arguments json.RawMessage) (strictest plugins.Verdict, silent []string) {
	for i := range e.gates {
		owner := e.gates[i].owner
		gate, ok := e.gates[i].gate.(plugins.CallGate)
		if !ok {
			silent = append(silent, owner)
			continue
		}
		v := askVerdict(func() plugins.Verdict { return gate.Explain(toolID, arguments) })
		if v.Access > strictest.Access || strictest.Plugin == "" {
			v.Plugin = owner
			strictest = v
		}
	}
	return strictest, silent
}

// CheckSchemas returns the gates' findings about the arguments of an agent's tools.
func (e *Env) CheckSchemas(list []plugins.ToolSchema) (found diag.List) {
	for i := range e.gates {
		if gate, ok := e.gates[i].gate.(plugins.SchemaGate); ok {
			found = append(found, gate.CheckSchemas(list)...)
		}
	}
	return found
}

// SchemaGates reports whether a gate checks the arguments of tools.
func (e *Env) SchemaGates() bool {
	return slices.ContainsFunc(e.gates, func(g taggedGate) bool {
		_, ok := g.gate.(plugins.SchemaGate)
		return ok
	})
}

// SampleTools returns samples of the tools that gates decide on, except for kinds that one of the
// known tools belongs to.
func (e *Env) SampleTools(known []string) (samples []string) {
	for i := range e.gates {
		if gate, ok := e.gates[i].gate.(plugins.SampleGate); ok {
			samples = append(samples, askSamples(gate, known)...)
		}
	}
	return samples
}

func askSamples(gate plugins.SampleGate, known []string) (samples []string) {
	defer panics.Handle(func(*panics.Error) { samples = nil })
	return gate.SampleTools(known)
}

// staticVerdict returns a gate's verdict on a tool, or none if it has no static one.
func staticVerdict(gate plugins.Gate, toolID string) plugins.Verdict {
	if static, ok := gate.(plugins.StaticGate); ok {
		return askVerdict(func() plugins.Verdict { return static.Verdict(toolID) })
	}
	return plugins.Verdict{}
}

// askVerdict calls a gate. If the gate panics, the tool is denied.
func askVerdict(ask func() plugins.Verdict) (v plugins.Verdict) {
	defer panics.Handle(func(p *panics.Error) {
		v = plugins.Verdict{Access: plugins.AccessDeny, Rule: fmt.Sprintf("the gate panics: %v", p.Value)}
	})
	return ask()
}
