// Package execution runs an agent's plugins: the environment built from their declarations, and
// the engine that runs the phases of a turn and keeps its state.
package execution

import (
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

// Action is an action requested by a hook. After a suspension, its payload is a json.RawMessage;
// HandleAction decodes it.
type Action struct {
	Key     string
	Payload any
}

// ScheduledAction is an action that waits for its phase.
type ScheduledAction struct {
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// pendingAction is an action not yet executed. Its payload is in JSON form if it waits for another
// phase than the one that scheduled it.
type pendingAction struct {
	Action
	raw json.RawMessage
}

// DeadLetter is an action or effect that failed.
type DeadLetter struct {
	// Plugin is the plugin whose handler failed.
	Plugin string
	Action Action
	Err    error
}

// Engine runs the phases of one turn over an Env and keeps the turn's
// state. It belongs to one goroutine.
type Engine struct {
	// Context is what hooks see; the loop fills it before each phase.
	Context plugins.PhaseContext
	// Emit is called with the events of plugins; nil drops them.
	Emit func(event.Data)
	// Spend is called with the usage and model of a plugin's model calls; may be nil.
	Spend func(usage model.Usage, modelID string)

	env     *Env
	ceiling []plugins.CeilingGate
	// request collects the plugins' plan for the next request; nil until a plugin uses it.
	request *plugins.RequestPlan
	state   map[plugins.StateKey]entry
	// changed is set if state was committed since the last snapshot.
	changed bool
	pending []pendingAction
	// stop and handOff are plugin requests that the loop has not taken yet.
	stop    *event.Termination
	handOff string
	answers []Answered
	staged  staged
	lifecycle
	deadLetters []DeadLetter

	// unknown is restored state of plugins that the agent does not have.
	unknown unknown
}

// entry is one state value. It is encoded as JSON when the hook that set it returns, so that a
// value that cannot be encoded is detected where it is set.
type entry struct {
	value any
	raw   json.RawMessage
	// written is set if this turn wrote the value.
	written bool
}

// unknown is the restored state of plugins that the agent lacks.
type unknown struct {
	run, session map[string]json.RawMessage
	written      []string
	actions      []ScheduledAction
}

// staged are the uncommitted changes of the current phase's hooks.
type staged struct {
	state   map[plugins.StateKey]entry
	actions []pendingAction
	effects []Action
	stop    *event.Termination
	handOff string
	err     error
}

// isEmpty reports whether there is nothing to check.
func (s *staged) isEmpty() bool {
	return s.err == nil && len(s.state) == 0 && len(s.actions) == 0 && len(s.effects) == 0
}

func (s *staged) setError(err error) {
	if s.err == nil {
		s.err = err
	}
}

// lifecycle tracks an engine's plugins between the phases at the ends.
type lifecycle struct {
	// active is set between Activate and Deactivate, and begun are the plugins
	// between RunStart and RunEnd.
	active bool
	begun  []string
	// only are the plugins that the current phase runs for; nil for all.
	only []string
}

// isConcerned reports whether the current phase runs for a plugin.
func (e *Engine) isConcerned(plugin string) bool {
	return e.only == nil || slices.Contains(e.only, plugin)
}

// NewEngine returns an engine for one turn. The ceiling limits its tool calls to the permissions
// of the agents that delegated the turn.
func NewEngine(env *Env, ceiling []plugins.CeilingGate) *Engine {
	e := &Engine{env: env, ceiling: ceiling}
	e.Context.Turn, e.Context.Session = turn{engine: e}, tools.NoSession
	return e
}

// Idle reports whether Run has nothing to do in a phase.
func (e *Engine) Idle(phase plugins.Phase) bool {
	return e.env.phases&(1<<phase) == 0 && len(e.pending) == 0
}

// TakeRequest returns and clears the plugins' plan for the next request; nil for none.
func (e *Engine) TakeRequest() *plugins.RequestPlan {
	plan := e.request
	e.request = nil
	if plan.Empty() {
		return nil
	}
	return plan
}

// clonePlan returns a copy of a plan, which may be nil.
func clonePlan(p *plugins.RequestPlan) *plugins.RequestPlan {
	if p == nil {
		return nil
	}
	plan := *p
	return &plan
}

// StopRequest returns and clears the plugins' request to end the turn, or nil.
func (e *Engine) StopRequest() *event.Termination {
	stop := e.stop
	e.stop = nil
	return stop
}

// HandoffRequest returns and clears the id of the agent that a plugin asked to take
// over, or "".
func (e *Engine) HandoffRequest() string {
	agent := e.handOff
	e.handOff = ""
	return agent
}

// DeadLetters returns the actions and effects that failed.
func (e *Engine) DeadLetters() []DeadLetter { return e.deadLetters }
