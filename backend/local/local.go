// Package local is the backend on which declared agents run: a loop that calls the model, runs the
// tools it requests, and repeats until the model is done or something ends the turn.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
)

// Backend runs turns on the local loop. The zero value is ready to use.
type Backend struct{}

var _ backend.Backend = Backend{}

// runEndLimit is how long the plugins may take to finish after the turn's context has ended.
const runEndLimit = 5 * time.Second

// Profile returns the loop's capabilities.
func (Backend) Profile() backend.Profile { return backend.LocalProfile() }

// Execute runs one turn, from its start or from job.State. The result is never nil:
// with an error it holds the turn's progress. With backend.ErrYield the turn has
// not ended.
func (Backend) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	if job.Local == nil {
		return &backend.Result{}, fmt.Errorf("run agent %s: it has no local environment", job.Agent.ID)
	}
	t, err := newTurn(job, host)
	if err != nil {
		return &backend.Result{}, err
	}
	ctx, cancel := t.withTimeLimit(ctx)
	defer cancel()
	defer t.watch.stop()
	t.span = telemetry.TurnFromContext(ctx)
	termination, err := t.runSteps(ctx)
	if errors.Is(err, backend.ErrYield) {
		t.releaseTurn(ctx)
		return t.turnResult(event.Termination{}), err
	}
	if err != nil {
		termination = backend.TerminationOf(err)
	}
	if termination.Type == event.Suspended {
		t.releaseTurn(ctx)
		return t.turnResult(termination), nil
	}
	t.keepResults()
	if err != nil && backend.Released(ctx) {
		t.releaseTurn(ctx)
	} else if endErr := t.endTurn(ctx, termination); endErr != nil && err == nil {
		termination, err = backend.TerminationOf(endErr), endErr
	}
	return t.turnResult(termination), err
}

func newTurn(job *backend.Job, host backend.Host) (*turn, error) {
	t := &turn{
		job: job, host: host, meter: job.Meter, form: job.Local.Output,
		speaker: speaker{agent: job.Agent, env: job.Local, engine: execution.NewEngine(job.Local.Env, job.Ceiling)},
	}
	t.inference.turn, t.inference.takeIn = t, t.inference.takeEvent
	t.inference.answer.Taken, t.inference.answer.MaxCalls = t.wasCalled, cmp.Or(t.env.Calling.Max, maxCalls)
	t.ids.prefix = event.ShownID(job.TurnID)
	t.beginTranscript(string(job.Agent.SystemPrompt), len(job.History)+len(job.Input)+room)
	t.transcript = append(t.transcript, job.History...)
	t.transcript = append(t.transcript, job.Input...)
	t.first = len(t.transcript)
	if job.State != nil {
		if err := t.restoreState(job.State); err != nil {
			return nil, err
		}
		if err := t.engine.MergeSession(job.Session); err != nil {
			return nil, err
		}
	} else if job.Session != nil {
		if err := t.engine.Restore(execution.State{Session: job.Session}); err != nil {
			return nil, err
		}
	}
	t.stats.Started = time.Now()
	t.syncHookView()
	return t, nil
}

// withTimeLimit returns a context that ends when the turn's time is up, or a plugin
// takes too long.
func (t *turn) withTimeLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	end, stop := t.job.Abort, func() {}
	if end == nil {
		ctx, end = context.WithCancelCause(ctx)
		stop = func() { end(nil) }
	}
	t.watch.end = end
	left, ok := t.meter.Remaining()
	if !ok {
		return ctx, stop
	}
	timer := time.AfterFunc(left, func() { end(t.meter.DurationError()) })
	return ctx, func() { timer.Stop(); stop() }
}

// turnResult returns the turn's result, or its progress.
func (t *turn) turnResult(termination event.Termination) *backend.Result {
	r := &backend.Result{
		Outcome: event.Outcome{
			Termination: termination, Response: t.response, Steps: t.stats.Steps, Usage: t.stats.Usage, FinishReason: t.reason,
		},
		Messages:    t.transcript[t.first:],
		Journal:     t.journal,
		DeadLetters: append(slices.Clip(t.deadLetters), t.engine.DeadLetters()...),
	}
	r.Agents = slices.Clone(t.agents)
	if t.agent != t.job.Agent {
		r.Agent = t.agent.ID
	}
	if t.stats.Currency != "" {
		r.Cost = &event.Cost{Amount: t.stats.Cost, Currency: t.stats.Currency}
	}
	if termination.Type == event.Suspended || termination.Type == "" {
		r.State = t.currentState()
		r.Interactions, r.Session = r.State.Interactions(), r.State.Plugins.Session
	} else {
		r.Session = t.engine.Export().Session
	}
	return r
}

// runSteps runs steps until one ends the turn.
func (t *turn) runSteps(ctx context.Context) (termination event.Termination, err error) {
	defer panics.Recover(&err)
	if err := t.enterAgent(ctx); err != nil {
		return event.Termination{}, err
	}
	for {
		if err := backend.Ended(ctx); err != nil {
			return event.Termination{}, err
		}
		if t.stop != nil && !t.inStep {
			return *t.stop, nil
		}
		r, err := t.nextStep(ctx)
		if err != nil {
			return event.Termination{}, err
		}
		if r.course != goesOn {
			return r.termination, nil
		}
		if err := t.saveCheckpoint(ctx); err != nil {
			return event.Termination{}, err
		}
	}
}

// nextStep continues an unfinished or suspended step, or begins a new one.
func (t *turn) nextStep(ctx context.Context) (stepResult, error) {
	switch {
	case t.inStep:
		return t.runStep(ctx)
	case len(t.calls) > 0:
		return t.resumeStep(ctx)
	}
	if r, err := t.changeHands(ctx); r.course != goesOn || err != nil {
		return r, err
	}
	return t.runStep(ctx)
}

// saveCheckpoint saves the turn's state, if the job has a checkpoint. It first handles an end
// requested by a plugin, which is not part of a state.
func (t *turn) saveCheckpoint(ctx context.Context) error {
	if t.job.Checkpoint == nil || t.stop != nil || ctx.Err() != nil {
		return nil
	}
	t.host.FlushSession()
	return t.job.Checkpoint(ctx, t.currentState())
}

// endTurn runs the last phases, whatever the turn ended by.
func (t *turn) endTurn(ctx context.Context, termination event.Termination) error {
	ctx, cancel := lastContext(ctx)
	defer cancel()
	t.ended = termination
	t.engine.Context.Termination = &t.ended
	err := t.runLastPhase(ctx, plugins.RunEnd, t.engine.End)
	if failed := t.runLastPhase(ctx, plugins.Deactivate, t.deactivatePlugins); err == nil {
		err = failed
	}
	return err
}

// releaseTurn runs the last phase of a turn that continues elsewhere or later.
func (t *turn) releaseTurn(ctx context.Context) {
	ctx, cancel := lastContext(ctx)
	defer cancel()
	_ = t.runLastPhase(ctx, plugins.Deactivate, t.deactivatePlugins) // it fails by a dead letter, or the sink's panic
}

// lastContext returns the context for the last phases: the turn's, or a new one if that has
// ended.
func lastContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), runEndLimit)
}

// runLastPhase runs one of the last phases and shows its changes.
func (t *turn) runLastPhase(ctx context.Context, phase plugins.Phase, run lifecycle) (err error) {
	defer panics.Recover(&err)
	if err := t.runHooks(ctx, phase, run); err != nil {
		return err
	}
	t.showState()
	return nil
}
