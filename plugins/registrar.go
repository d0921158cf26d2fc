package plugins

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Hook runs in a phase of a turn. It reads the turn from p, writes state through registered keys
// and schedules actions. Its effects apply after all hooks of the phase have run. An error or
// panic fails the turn.
type Hook func(ctx context.Context, p *PhaseContext) error

// RequestTransform changes only the messages of an outgoing request; the turn's history stays
// unchanged. It must not modify the given messages.
type RequestTransform func(messages []model.Message, offered []model.Tool) []model.Message

// ActionHandler executes an action that a hook scheduled. After an error or panic, the action
// becomes a DeadLetter without any effect, and the turn continues.
type ActionHandler func(ctx context.Context, p *PhaseContext, payload any) error

// EffectHandler performs an external effect after the requesting phase was committed. After an
// error or panic, the effect becomes a DeadLetter, and the turn continues.
type EffectHandler func(ctx context.Context, payload any) error

// Registrar collects the declarations of a plugin during one Register call. Do not use it
// afterwards.
type Registrar struct{ Registry }

// Registry receives the declarations of a plugin.
type Registry interface {
	// Agent returns the agent that is being resolved. It is read-only.
	Agent() *spec.Agent
	// Section returns the settings of a section, and whether the plugin claims it. Config is the
	// typed form.
	Section(key string) (any, bool)
	// Hook adds a hook to a phase. The hooks of a phase run in the order added. The phase
	// ToolGate takes gates, not hooks. Handlers, and the hooks of Activate and Deactivate, run
	// even if a filter excludes the plugin's hooks.
	Hook(phase Phase, hook Hook)
	// ToolGate adds a gate, which is called for every tool call.
	ToolGate(gate Gate)
	// BatchGate adds a gate that is called for all calls of an answer together. Batch gates are
	// called in the order added.
	BatchGate(gate BatchGate)
	// RequestTransform adds a transform of outgoing requests. Transforms run in the order added.
	RequestTransform(transform RequestTransform)
	// Tool adds a tool. Its id must be unique.
	Tool(id string, tool tools.Tool)
	// ActionHandler adds the handler of an action, which runs in the given phase. The payload is
	// the scheduled value or, if the turn was suspended in between, its JSON as a
	// json.RawMessage; HandleAction decodes it. The handler runs even if a filter excludes the
	// plugin's hooks.
	ActionHandler(key string, phase Phase, handler ActionHandler)
	// EffectHandler adds the handler of an effect. The handler runs even if a filter excludes the
	// plugin's hooks.
	EffectHandler(key string, handler EffectHandler)
	// StateKey declares a state key. Several plugins may declare the same key, but each only once.
	StateKey(key StateKey)
	// Fail makes the plugin's registration fail.
	Fail(err error)
}

// Config returns the settings of a section that the plugin claims, as decoded by its Decode. All
// resolves of a revision share the value: treat it as read-only. ok is false if the plugin does not
// claim the section, or if T is not the decoded type; the plugin's registration then fails.
func Config[T any](r *Registrar, key string) (settings T, ok bool) {
	decoded, claimed := r.Section(key)
	if !claimed {
		return settings, false
	}
	if settings, ok = decoded.(T); !ok {
		r.Fail(fmt.Errorf("it reads section %q as %T, but its decoder returns %T", key, settings, decoded))
	}
	return settings, ok
}
