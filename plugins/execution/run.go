package execution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// maxActionRounds is the maximum number of rounds of scheduled actions in a phase.
const maxActionRounds = 16

// maxActions is the maximum number of actions in a phase: rounds alone do not limit actions that
// each schedule several.
const maxActions = 4096

// HookError reports that a plugin's code failed in a phase.
type HookError struct {
	Plugin string
	Phase  plugins.Phase
	Err    error
}

// Error names the plugin and the phase.
func (e *HookError) Error() string {
	return fmt.Sprintf("plugin %s in %s: %v", e.Plugin, e.Phase, e.Err)
}

// Unwrap returns the cause.
func (e *HookError) Unwrap() error { return e.Err }

// ErrActionLoop is returned for a phase whose actions endlessly schedule actions.
var ErrActionLoop = errors.New("actions of a phase keep scheduling actions")

// Run runs the hooks of a phase in order, each seeing the changes of the previous ones, executes
// the phase's actions, commits all changes, and runs the effects. On an error, a *HookError, it
// commits nothing of the phase.
func (e *Engine) Run(ctx context.Context, phase plugins.Phase) error {
	if e.Idle(phase) {
		return nil
	}
	e.Context.Phase, e.Context.Now = phase, time.Now()
	err := e.callEach(ctx, phase, e.env.hooks)
	if err == nil {
		err = e.carryOutActions(ctx, phase)
	}
	if err != nil {
		e.staged = staged{}
		return err
	}
	stop, effects := e.commitStaged()
	e.askStop(stop)
	e.runEffects(ctx, effects)
	return nil
}

// askStop requests the end of the turn, unless already requested.
func (e *Engine) askStop(stop *event.Termination) {
	if e.stop == nil {
		e.stop = stop
	}
}

func (e *Engine) callHook(ctx context.Context, h *taggedHook) (err error) {
	defer panics.Handle(func(p *panics.Error) {
		err = &HookError{Plugin: h.owner, Phase: h.phase, Err: p}
	})
	if err = h.hook(ctx, &e.Context); err == nil && !e.staged.isEmpty() {
		err = e.checkStaged()
	}
	if err != nil {
		return &HookError{Plugin: h.owner, Phase: h.phase, Err: err}
	}
	return nil
}

// checkStaged rejects, right after a hook or handler, staged changes that cannot be committed:
// actions and effects without a handler, and values that cannot be encoded as JSON.
func (e *Engine) checkStaged() error {
	if e.staged.err != nil {
		return e.staged.err
	}
	for _, a := range e.staged.actions {
		if e.env.findAction(a.Key) < 0 {
			return fmt.Errorf("no plugin handles the action %q", a.Key)
		}
	}
	for _, a := range e.staged.effects {
		if e.env.findEffect(a.Key) < 0 {
			return fmt.Errorf("no plugin handles the effect %q", a.Key)
		}
	}
	return e.encodeStaged()
}

// carryOutActions executes the actions of the phase in rounds until none is left.
func (e *Engine) carryOutActions(ctx context.Context, phase plugins.Phase) error {
	count := 0
	for range maxActionRounds {
		due := e.takeDue(phase)
		if len(due) == 0 {
			return nil
		}
		if count += len(due); count > maxActions {
			return e.actionLoop(phase, due, fmt.Sprintf("more than %d", maxActions))
		}
		for _, a := range due {
			e.carryOutAction(ctx, a)
		}
	}
	if due := e.takeDue(phase); len(due) > 0 {
		return e.actionLoop(phase, due, fmt.Sprintf("for %d rounds", maxActionRounds))
	}
	return nil
}

func (e *Engine) actionLoop(phase plugins.Phase, due []pendingAction, how string) error {
	owner := e.env.actions[e.env.findAction(due[0].Key)].owner
	return &HookError{Plugin: owner, Phase: phase, Err: fmt.Errorf("%w, %s", ErrActionLoop, how)}
}

// takeDue removes and returns the actions of the phase, actions of earlier phases first. Other
// actions keep waiting.
func (e *Engine) takeDue(phase plugins.Phase) []pendingAction {
	if len(e.pending) == 0 && len(e.staged.actions) == 0 {
		return nil
	}
	var due []pendingAction
	for _, list := range []*[]pendingAction{&e.pending, &e.staged.actions} {
		rest := (*list)[:0]
		for _, a := range *list {
			if h := &e.env.actions[e.env.findAction(a.Key)]; h.phase == phase && e.isConcerned(h.owner) {
				due = append(due, a)
			} else {
				rest = append(rest, a)
			}
		}
		*list = rest
	}
	return due
}

// commitStaged commits the staged changes, and returns the requested end of the turn and effects.
func (e *Engine) commitStaged() (*event.Termination, []Action) {
	s := e.staged
	e.staged = staged{}
	if s.state != nil {
		e.changed = true
		if e.state == nil {
			e.state = s.state
		} else {
			maps.Copy(e.state, s.state)
		}
	}
	e.pending = append(e.pending, s.actions...)
	if e.handOff == "" {
		e.handOff = s.handOff
	}
	return s.stop, s.effects
}

// carryOutAction executes one action. It drops changes staged by a failed handler.
func (e *Engine) carryOutAction(ctx context.Context, a pendingAction) {
	before, request := e.staged, clonePlan(e.request)
	e.staged = staged{state: maps.Clone(before.state), stop: before.stop, handOff: before.handOff}
	h := &e.env.actions[e.env.findAction(a.Key)]
	if err := e.callHandler(ctx, h, a.Payload); err != nil {
		e.staged, e.request = before, request
		e.deadLetters = append(e.deadLetters, DeadLetter{Plugin: h.owner, Action: a.Action, Err: err})
		return
	}
	e.staged.actions = append(before.actions, e.staged.actions...)
	e.staged.effects = append(before.effects, e.staged.effects...)
}

func (e *Engine) callHandler(ctx context.Context, h *actionHandler, payload any) (err error) {
	defer panics.Recover(&err)
	if err := h.handle(ctx, &e.Context, payload); err != nil {
		return err
	}
	return e.checkStaged()
}

// runEffects runs effects in order.
func (e *Engine) runEffects(ctx context.Context, effects []Action) {
	for _, a := range effects {
		h := &e.env.effects[e.env.findEffect(a.Key)]
		if err := callEffect(ctx, h, a); err != nil {
			e.deadLetters = append(e.deadLetters, DeadLetter{Plugin: h.owner, Action: a, Err: err})
		}
	}
}

func callEffect(ctx context.Context, h *effectHandler, a Action) (err error) {
	defer panics.Recover(&err)
	return h.handle(ctx, a.Payload)
}

// Transform applies the request transforms in order.
func (e *Engine) Transform(messages []model.Message, offered []model.Tool) (out []model.Message, err error) {
	owner := ""
	defer panics.Handle(func(p *panics.Error) {
		err = &HookError{Plugin: owner, Phase: plugins.BeforeInference, Err: fmt.Errorf("panic in request transform: %v", p.Value)}
	})
	for i := range e.env.transforms {
		owner = e.env.transforms[i].owner
		messages = e.env.transforms[i].transform(messages, offered)
	}
	return messages, nil
}
