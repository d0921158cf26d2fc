package plugins

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// The phases at the ends run for every plugin, even when one fails: what a
// plugin began it must be able to finish.
//
//	Activate  RunStart  … steps …  RunEnd  Deactivate
//
// Activate and Deactivate belong to the plugins that one Register call made:
// each resolve makes new ones, so a hand-off and a resumption begin with
// Activate and a hand-off and a suspension end with Deactivate. RunStart and
// RunEnd belong to the turn, whichever agent has the conversation: the state
// says which plugins are between the two.

// Activate runs the hooks of Activate, before anything else of the engine. It
// returns the termination that was asked for, or nil. The errors, each a
// *HookError, are those of all plugins that failed.
func (e *Engine) Activate(ctx context.Context) (*event.Termination, error) {
	e.active = true
	stop, errs := e.runEach(ctx, Activate, nil)
	return stop, joined(errs)
}

// Deactivate runs the hooks of Deactivate, once, if Activate ran. What fails is a
// dead letter: the engine has no part in the turn any more. The termination is
// always nil.
func (e *Engine) Deactivate(ctx context.Context) (*event.Termination, error) {
	if !e.active {
		return nil, nil //nolint:nilnil // nothing was asked for
	}
	e.active = false
	_, errs := e.runEach(ctx, Deactivate, nil)
	for _, err := range errs {
		letter := DeadLetter{Action: Action{Key: Deactivate.String()}, Err: err}
		if failure, ok := errors.AsType[*HookError](err); ok {
			letter.Plugin = failure.Plugin
		}
		e.deadLetters = append(e.deadLetters, letter)
	}
	return nil, nil //nolint:nilnil // as above
}

// Start runs the hooks of RunStart of the plugins that are not part of the turn
// yet: all of a new turn, those of an agent that took over which the agents
// before it did not have. Results are those of Activate.
func (e *Engine) Start(ctx context.Context) (*event.Termination, error) {
	joining := slices.DeleteFunc(e.env.participants(), func(id string) bool { return slices.Contains(e.begun, id) })
	if len(joining) == 0 {
		return nil, nil //nolint:nilnil // nothing was asked for
	}
	e.begun = append(slices.Clip(e.begun), joining...)
	stop, errs := e.runEach(ctx, RunStart, joining)
	return stop, joined(errs)
}

// End runs the hooks of RunEnd of the plugins for which Start ran those of
// RunStart. Results are those of Activate.
func (e *Engine) End(ctx context.Context) (*event.Termination, error) { return e.finish(ctx, nil) }

// Leave is End for the plugins that the agent that takes over does not have.
func (e *Engine) Leave(ctx context.Context, next *ExecutionEnv) (*event.Termination, error) {
	return e.finish(ctx, next.participants())
}

// finish runs the hooks of RunEnd of the plugins that are part of the turn and
// do not stay.
func (e *Engine) finish(ctx context.Context, stay []string) (*event.Termination, error) {
	var leaving, staying []string
	for _, id := range e.begun {
		if slices.Contains(stay, id) {
			staying = append(staying, id)
		} else {
			leaving = append(leaving, id)
		}
	}
	if e.begun = staying; len(leaving) == 0 {
		return nil, nil //nolint:nilnil // nothing was asked for
	}
	stop, errs := e.runEach(ctx, RunEnd, leaving)
	return stop, joined(errs)
}

// participants returns the plugins that take part in RunStart or RunEnd, in
// order.
func (e *ExecutionEnv) participants() []string {
	var ids []string
	add := func(phase Phase, owner string) {
		if (phase == RunStart || phase == RunEnd) && !slices.Contains(ids, owner) {
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

// runEach runs a phase like Run, but plugin by plugin and for the given ones
// only, all when nil. What a plugin did is committed when its hooks have run; of
// one that fails nothing is, and the others run all the same.
func (e *Engine) runEach(ctx context.Context, phase Phase, only []string) (stop *event.Termination, errs []error) {
	if e.Idle(phase) {
		return nil, nil
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
		asked, more := e.commit()
		if stop == nil {
			stop = asked
		}
		effects = append(effects, more...)
	}
	for hooks := range e.env.byPlugin() {
		if e.concerns(hooks[0].owner) {
			settle(e.callEach(ctx, phase, hooks))
		}
	}
	settle(e.carryOut(ctx, phase))
	e.handOn(ctx, effects)
	return stop, errs
}

// concerns reports whether the phase that runs is one of a plugin.
func (e *Engine) concerns(plugin string) bool {
	return e.only == nil || slices.Contains(e.only, plugin)
}

// byPlugin returns the hooks of each plugin.
func (e *ExecutionEnv) byPlugin() iter.Seq[[]taggedHook] {
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

// callEach calls those of the hooks that belong to a phase, up to one that fails.
func (e *Engine) callEach(ctx context.Context, phase Phase, hooks []taggedHook) error {
	for i := range hooks {
		if hooks[i].phase != phase {
			continue
		}
		if err := e.call(ctx, &hooks[i]); err != nil {
			return err
		}
	}
	return nil
}

// joined returns errors as one, a single one as it is.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
