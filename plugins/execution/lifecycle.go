package execution

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/plugins"
)

// The first and last phases run for every plugin, even after a failure, so that plugins can
// clean up.
//
//	Activate  RunStart  … steps …  RunEnd  Deactivate
//
// Activate and Deactivate belong to the plugins that one Register call made:
// each resolve makes new ones, so a handoff and a resumption begin with
// Activate and a handoff and a suspension end with Deactivate. RunStart and
// RunEnd belong to the turn, whichever agent has the conversation: the state
// records which plugins are between the two.

// Activate runs the Activate hooks, before any other engine method. It joins the *HookError of
// each failed plugin.
func (e *Engine) Activate(ctx context.Context) error {
	e.active = true
	return joinErrors(e.runEach(ctx, plugins.Activate, nil))
}

// Deactivate runs the Deactivate hooks, once, if Activate ran. Failures become dead letters, and
// hooks cannot make requests, because the engine no longer takes part in the turn.
func (e *Engine) Deactivate(ctx context.Context) {
	if !e.active {
		return
	}
	e.active = false
	for _, err := range e.runEach(ctx, plugins.Deactivate, nil) {
		letter := DeadLetter{Action: Action{Key: plugins.Deactivate.String()}, Err: err}
		if failure, ok := errors.AsType[*HookError](err); ok {
			letter.Plugin = failure.Plugin
		}
		e.deadLetters = append(e.deadLetters, letter)
	}
}

// Start runs the RunStart hooks of the plugins that have not joined the turn yet: all plugins in
// a new turn; after a handoff, those that earlier agents did not have. Errors are as for
// Activate.
func (e *Engine) Start(ctx context.Context) error {
	joining := slices.DeleteFunc(e.env.findParticipants(), func(id string) bool { return slices.Contains(e.begun, id) })
	if len(joining) == 0 {
		return nil
	}
	e.begun = append(slices.Clip(e.begun), joining...)
	return joinErrors(e.runEach(ctx, plugins.RunStart, joining))
}

// End runs the RunEnd hooks of the plugins for which Start ran. Errors are as for Activate.
func (e *Engine) End(ctx context.Context) error { return e.runEnd(ctx, nil) }

// Leave is End for the plugins that the next agent does not have.
func (e *Engine) Leave(ctx context.Context, next *Env) error {
	return e.runEnd(ctx, next.findParticipants())
}

// runEnd runs the RunEnd hooks of the plugins that have joined the turn and do not stay.
func (e *Engine) runEnd(ctx context.Context, stay []string) error {
	var leaving, staying []string
	for _, id := range e.begun {
		if slices.Contains(stay, id) {
			staying = append(staying, id)
		} else {
			leaving = append(leaving, id)
		}
	}
	if e.begun = staying; len(leaving) == 0 {
		return nil
	}
	return joinErrors(e.runEach(ctx, plugins.RunEnd, leaving))
}

// findParticipants returns the plugins that take part in RunStart or RunEnd, in
// order.
func (e *Env) findParticipants() []string {
	var ids []string
	add := func(phase plugins.Phase, owner string) {
		if (phase == plugins.RunStart || phase == plugins.RunEnd) && !slices.Contains(ids, owner) {
			ids = append(ids, owner)
		}
	}
	for i := range e.hooks {
		add(e.hooks[i].phase, e.hooks[i].owner)
	}
	for i := range e.actions {
		add(e.actions[i].phase, e.actions[i].owner)
	}
	return ids
}

// runEach runs a phase like Run, but plugin by plugin, for the given plugins, or all if nil. It
// commits each plugin's changes after its hooks; a failing plugin commits nothing and does not
// stop the others.
func (e *Engine) runEach(ctx context.Context, phase plugins.Phase, only []string) (errs []error) {
	if e.Idle(phase) {
		return nil
	}
	e.Context.Phase, e.Context.Now = phase, time.Now()
	e.only = only
	defer func() { e.only = nil }()
	var effects []Action
	settle := func(err error) {
		if err != nil {
			e.staged = staged{}
			errs = append(errs, err)
			return
		}
		stop, more := e.commitStaged()
		if phase != plugins.Deactivate {
			e.askStop(stop)
		}
		effects = append(effects, more...)
	}
	for hooks := range e.env.byPlugin() {
		if e.isConcerned(hooks[0].owner) {
			settle(e.callEach(ctx, phase, hooks))
		}
	}
	settle(e.carryOutActions(ctx, phase))
	e.runEffects(ctx, effects)
	return errs
}

// byPlugin returns the hooks of each plugin.
func (e *Env) byPlugin() iter.Seq[[]taggedHook] {
	return func(yield func([]taggedHook) bool) {
		for rest := e.hooks; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].owner == rest[0].owner {
				n++
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// callEach calls the given hooks of a phase until one fails.
func (e *Engine) callEach(ctx context.Context, phase plugins.Phase, hooks []taggedHook) error {
	for i := range hooks {
		if hooks[i].phase != phase {
			continue
		}
		if err := e.callHook(ctx, &hooks[i]); err != nil {
			return err
		}
	}
	return nil
}

// joinErrors joins errors; it returns a single error unchanged.
func joinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
