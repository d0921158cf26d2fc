package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Hook runs in a phase of a turn. It reads the turn from p, writes state with
// the keys it registered and schedules actions; what it does takes effect when
// all hooks of the phase have run. An error, or a panic, fails the turn.
type Hook func(ctx context.Context, p *PhaseContext) error

// RequestTransform changes the messages of an outgoing request, and nothing
// else: what the turn remembers stays as it is. It must not modify the
// messages it is given.
type RequestTransform func(messages []model.Message, offered []model.Tool) []model.Message

// ActionHandler carries out an action that a hook scheduled. An error, or a
// panic, makes the action a DeadLetter, of which nothing takes effect; the turn
// goes on.
type ActionHandler func(ctx context.Context, p *PhaseContext, payload any) error

// EffectHandler does something outside of the turn after the phase that asked
// for it was committed. An error, or a panic, makes the effect a DeadLetter; the
// turn goes on.
type EffectHandler func(ctx context.Context, payload any) error

// Registrar takes in what a plugin declares. It serves one Register call of
// one plugin and is worthless afterwards.
type Registrar struct {
	env      *ExecutionEnv
	owner    string
	active   bool
	agent    *spec.Agent
	sections map[Claim]any
	errs     []error
}

// Agent returns the agent that is being resolved. It is read-only.
func (r *Registrar) Agent() *spec.Agent { return r.agent }

// Config returns the settings of a section that the plugin claims, as the
// plugin's own Decode made them. The value is shared by all resolves of a
// revision: treat it as read-only. ok is false when the plugin does not claim
// the section. When T is not what was decoded, ok is false and the plugin does
// not register.
func Config[T any](r *Registrar, key string) (settings T, ok bool) {
	decoded, claimed := r.sections[Claim{r.owner, key}]
	if !claimed {
		return settings, false
	}
	if settings, ok = decoded.(T); !ok {
		r.fail(fmt.Errorf("it reads section %q as %T, but its decoder returns %T", key, settings, decoded))
	}
	return settings, ok
}

// Hook adds a hook to a phase. Hooks of a phase run in the order in which they
// were added. The phase ToolGate takes gates, not hooks. Like handlers, those of
// Activate and Deactivate count even when a filter keeps the plugin's hooks out.
func (r *Registrar) Hook(phase Phase, hook Hook) {
	if r.runs("hook", phase, hook == nil) && (r.active || phase == Activate || phase == Deactivate) {
		r.env.hooks = append(r.env.hooks, taggedHook{phase: phase, owner: r.owner, hook: hook})
		r.env.phases |= 1 << phase
	}
}

// runs reports whether something may run in a phase, and keeps why it may not.
func (r *Registrar) runs(what string, phase Phase, missing bool) bool {
	switch {
	case phase >= phaseCount:
		r.fail(fmt.Errorf("its %s is for the unknown phase %d", what, phase))
	case phase == ToolGate:
		r.fail(fmt.Errorf("its %s is for the phase ToolGate, which takes gates only", what))
	default:
		return r.given(what, missing)
	}
	return false
}

// given reports whether something is there at all, and keeps that it is not.
func (r *Registrar) given(what string, missing bool) bool {
	if missing {
		r.fail(fmt.Errorf("its %s is nil", what))
	}
	return !missing
}

// ToolGate adds a gate, which is asked about every tool call.
func (r *Registrar) ToolGate(gate Gate) {
	if r.given("tool gate", gate == nil) && r.passes() {
		r.env.gates = append(r.env.gates, taggedGate{owner: r.owner, gate: gate})
	}
}

// passes reports whether the plugin's gates count, and notes when they do not.
func (r *Registrar) passes() bool {
	if !r.active && !slices.Contains(r.env.silenced, r.owner) {
		r.env.silenced = append(r.env.silenced, r.owner)
	}
	return r.active
}

// BatchGate adds a gate that is asked about all calls of an answer at once. Batch
// gates are asked in the order in which they were added.
func (r *Registrar) BatchGate(gate BatchGate) {
	if r.given("batch gate", gate == nil) && r.passes() {
		r.env.batchGates = append(r.env.batchGates, taggedBatchGate{owner: r.owner, gate: gate})
	}
}

// RequestTransform adds a transform of outgoing requests. Transforms run in
// the order in which they were added.
func (r *Registrar) RequestTransform(transform RequestTransform) {
	if r.given("request transform", transform == nil) && r.active {
		r.env.transforms = append(r.env.transforms, taggedTransform{owner: r.owner, transform: transform})
	}
}

// Tool adds a tool. Its id must differ from that of every other tool.
func (r *Registrar) Tool(id string, tool tools.Tool) {
	if !r.active {
		return
	}
	for i := range r.env.tools {
		if r.env.tools[i].ID == id {
			r.fail(&DuplicateError{What: "tool", ID: id, First: r.env.tools[i].Owner, Second: r.owner})
			return
		}
	}
	r.env.tools = append(r.env.tools, PluginTool{Owner: r.owner, ID: id, Tool: tool})
}

// ActionHandler adds the handler of an action, which runs in the given phase.
// The payload is what was scheduled, or its JSON form, a json.RawMessage, when
// the turn was suspended while the action waited; HandleAction decodes it. The
// handler counts even when a filter keeps the plugin's hooks out.
func (r *Registrar) ActionHandler(key string, phase Phase, handler ActionHandler) {
	if i := r.env.action(key); i >= 0 {
		r.fail(&DuplicateError{What: "action handler", ID: key, First: r.env.actions[i].owner, Second: r.owner})
		return
	}
	if r.runs("action handler", phase, handler == nil) {
		r.env.actions = append(r.env.actions, actionHandler{key: key, phase: phase, owner: r.owner, handle: handler})
	}
}

// EffectHandler adds the handler of an effect. It counts even when a filter
// keeps the plugin's hooks out.
func (r *Registrar) EffectHandler(key string, handler EffectHandler) {
	if i := r.env.effect(key); i >= 0 {
		r.fail(&DuplicateError{What: "effect handler", ID: key, First: r.env.effects[i].owner, Second: r.owner})
		return
	}
	if r.given("effect handler", handler == nil) {
		r.env.effects = append(r.env.effects, effectHandler{key: key, owner: r.owner, handle: handler})
	}
}

// StateKey declares a key of the turn's state. A key may be declared by
// several plugins, and only once by each.
func (r *Registrar) StateKey(key StateKey) {
	if !r.given("state key", key == nil) {
		return
	}
	for _, k := range r.env.keys {
		if k.key.ID() == key.ID() && (k.owner == r.owner || k.key != key) {
			r.fail(&DuplicateError{What: "state key", ID: key.ID(), First: k.owner, Second: r.owner})
			return
		}
	}
	r.env.keys = append(r.env.keys, keyRegistration{owner: r.owner, key: key})
}

func (r *Registrar) fail(err error) { r.errs = append(r.errs, err) }

// DuplicateError says that something was registered twice that may exist only
// once.
type DuplicateError struct {
	// What is the kind of thing, as in "action handler".
	What string
	// ID is its key or id.
	ID string
	// First and Second are the plugins that register it, possibly the same.
	First, Second string
}

// Error names the thing and both plugins.
func (e *DuplicateError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("plugin %s registers the %s %q twice", e.First, e.What, e.ID)
	}
	return fmt.Sprintf("plugins %s and %s both register the %s %q", e.First, e.Second, e.What, e.ID)
}

// RegisterError says why a plugin could not be registered.
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
