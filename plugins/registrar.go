package plugins

import (
	"context"
	"fmt"

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

// Registrar takes what a plugin declares. It serves one Register call of one
// plugin and is worthless afterwards.
type Registrar struct{ Registry }

// Registry is where the declarations of a plugin go to.
type Registry interface {
	// Agent returns the agent that is being resolved. It is read-only.
	Agent() *spec.Agent
	// Section returns the settings of a section that the plugin claims, and whether
	// it does. Config does so by type.
	Section(key string) (any, bool)
	// Hook adds a hook to a phase. Hooks of a phase run in the order in which they
	// were added. The phase ToolGate takes gates, not hooks. Like handlers, those of
	// Activate and Deactivate count even when a filter keeps the plugin's hooks out.
	Hook(phase Phase, hook Hook)
	// ToolGate adds a gate, which is asked about every tool call.
	ToolGate(gate Gate)
	// BatchGate adds a gate that is asked about all calls of an answer at once. Batch
	// gates are asked in the order in which they were added.
	BatchGate(gate BatchGate)
	// RequestTransform adds a transform of outgoing requests. Transforms run in
	// the order in which they were added.
	RequestTransform(transform RequestTransform)
	// Tool adds a tool. Its id must differ from that of every other tool.
	Tool(id string, tool tools.Tool)
	// ActionHandler adds the handler of an action, which runs in the given phase.
	// The payload is what was scheduled, or its JSON form, a json.RawMessage, when
	// the turn was suspended while the action waited; HandleAction decodes it. The
	// handler counts even when a filter keeps the plugin's hooks out.
	ActionHandler(key string, phase Phase, handler ActionHandler)
	// EffectHandler adds the handler of an effect. It counts even when a filter
	// keeps the plugin's hooks out.
	EffectHandler(key string, handler EffectHandler)
	// StateKey declares a key of the turn's state. A key may be declared by
	// several plugins, and only once by each.
	StateKey(key StateKey)
	// Fail keeps the plugin from registering.
	Fail(err error)
}

// Config returns the settings of a section that the plugin claims, as the
// plugin's own Decode made them. The value is shared by all resolves of a
// revision: treat it as read-only. ok is false when the plugin does not claim
// the section. When T is not what was decoded, ok is false and the plugin does
// not register.
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
