package execution

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// registrar is a plugins.Registry that adds to an Env.
type registrar struct {
	env      *Env
	owner    string
	active   bool
	agent    *spec.Agent
	sections map[plugins.Claim]any
	errs     []error
}

// Agent returns the agent that is being resolved.
func (r *registrar) Agent() *spec.Agent { return r.agent }

// Section returns the settings of a section that the plugin claims.
func (r *registrar) Section(key string) (any, bool) {
	decoded, claimed := r.sections[plugins.Claim{Plugin: r.owner, Key: key}]
	return decoded, claimed
}

// Hook adds a hook, unless a filter excludes it.
func (r *registrar) Hook(phase plugins.Phase, hook plugins.Hook) {
	if r.checkPhase("hook", phase, hook == nil) && (r.active || phase == plugins.Activate || phase == plugins.Deactivate) {
		r.env.hooks = append(r.env.hooks, taggedHook{phase: phase, owner: r.owner, hook: hook})
		r.env.phases |= 1 << phase
	}
}

// checkPhase reports whether something may run in a phase, and otherwise records an error.
func (r *registrar) checkPhase(what string, phase plugins.Phase, missing bool) bool {
	switch {
	case !phase.Valid():
		r.Fail(fmt.Errorf("its %s is for the unknown phase %d", what, phase))
	case phase == plugins.ToolGate:
		r.Fail(fmt.Errorf("its %s is for the phase ToolGate, which takes gates only", what))
	default:
		return r.checkGiven(what, missing)
	}
	return false
}

// checkGiven reports whether a value is not nil, and otherwise records an error.
func (r *registrar) checkGiven(what string, missing bool) bool {
	if missing {
		r.Fail(fmt.Errorf("its %s is nil", what))
	}
	return !missing
}

// ToolGate adds a gate.
func (r *registrar) ToolGate(gate plugins.Gate) {
	if r.checkGiven("tool gate", gate == nil) && r.countsGates() {
		r.env.gates = append(r.env.gates, taggedGate{owner: r.owner, gate: gate})
	}
}

// countsGates reports whether the plugin's gates count, and otherwise records the plugin.
func (r *registrar) countsGates() bool {
	if !r.active && !slices.Contains(r.env.silenced, r.owner) {
		r.env.silenced = append(r.env.silenced, r.owner)
	}
	return r.active
}

// BatchGate adds a batch gate.
func (r *registrar) BatchGate(gate plugins.BatchGate) {
	if r.checkGiven("batch gate", gate == nil) && r.countsGates() {
		r.env.batchGates = append(r.env.batchGates, taggedBatchGate{owner: r.owner, gate: gate})
	}
}

// RequestTransform adds a request transform.
func (r *registrar) RequestTransform(transform plugins.RequestTransform) {
	if r.checkGiven("request transform", transform == nil) && r.active {
		r.env.transforms = append(r.env.transforms, taggedTransform{owner: r.owner, transform: transform})
	}
}

// Tool adds a tool.
func (r *registrar) Tool(id string, tool tools.Tool) {
	if !r.active {
		return
	}
	for i := range r.env.tools {
		if r.env.tools[i].ID == id {
			r.Fail(&DuplicateError{What: "tool", ID: id, First: r.env.tools[i].Owner, Second: r.owner})
			return
		}
	}
	r.env.tools = append(r.env.tools, PluginTool{Owner: r.owner, ID: id, Tool: tool})
}

// ActionHandler adds the handler of an action.
func (r *registrar) ActionHandler(key string, phase plugins.Phase, handler plugins.ActionHandler) {
	if i := r.env.findAction(key); i >= 0 {
		r.Fail(&DuplicateError{What: "action handler", ID: key, First: r.env.actions[i].owner, Second: r.owner})
		return
	}
	if r.checkPhase("action handler", phase, handler == nil) {
		r.env.actions = append(r.env.actions, actionHandler{key: key, phase: phase, owner: r.owner, handle: handler})
	}
}

// EffectHandler adds the handler of an effect.
func (r *registrar) EffectHandler(key string, handler plugins.EffectHandler) {
	if i := r.env.findEffect(key); i >= 0 {
		r.Fail(&DuplicateError{What: "effect handler", ID: key, First: r.env.effects[i].owner, Second: r.owner})
		return
	}
	if r.checkGiven("effect handler", handler == nil) {
		r.env.effects = append(r.env.effects, effectHandler{key: key, owner: r.owner, handle: handler})
	}
}

// StateKey declares a state key.
func (r *registrar) StateKey(key plugins.StateKey) {
	if !r.checkGiven("state key", key == nil) {
		return
	}
	for _, k := range r.env.keys {
		if k.key.ID() == key.ID() && (k.owner == r.owner || k.key != key) {
			r.Fail(&DuplicateError{What: "state key", ID: key.ID(), First: k.owner, Second: r.owner})
			return
		}
	}
	r.env.keys = append(r.env.keys, keyRegistration{owner: r.owner, key: key})
}

// Fail records an error of the plugin.
func (r *registrar) Fail(err error) { r.errs = append(r.errs, err) }

// DuplicateError reports a second registration of something that must be unique.
type DuplicateError struct {
	// What names the kind of registration, such as "action handler".
	What string
	// ID is its key or id.
	ID string
	// First and Second are the plugins that registered it, possibly the same.
	First, Second string
}

// Error names the registration and both plugins.
func (e *DuplicateError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("plugin %s registers the %s %q twice", e.First, e.What, e.ID)
	}
	return fmt.Sprintf("plugins %s and %s both register the %s %q", e.First, e.Second, e.What, e.ID)
}

// RegisterError explains why a plugin could not be registered.
type RegisterError struct {
	Plugin string
	Err    error
}

// Error names the plugin and the cause.
func (e *RegisterError) Error() string {
	if _, ok := errors.AsType[*DuplicateError](e.Err); ok {
		return e.Err.Error()
	}
	return fmt.Sprintf("plugin %s: %v", e.Plugin, e.Err)
}

// Unwrap returns the cause.
func (e *RegisterError) Unwrap() error { return e.Err }
