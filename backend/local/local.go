// Package local is the backend on which declared agents run: a loop that asks
// the model, runs the tools it calls for, and asks again, until the model has
// nothing more to do or something ends the turn.
package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/telemetry"
)

// Backend runs turns on the local loop. The zero value is ready to use.
type Backend struct{}

var _ backend.Backend = Backend{}

// runEndLimit is how long the plugins may take to finish when the turn's own
// context has ended.
const runEndLimit = 5 * time.Second

// Profile returns what the loop can do.
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
	} else if endErr := t.endTurn(ctx, &termination); endErr != nil && err == nil {
		termination, err = backend.TerminationOf(endErr), endErr
	}
	return t.turnResult(termination), err
}

// turn is one turn on the loop. It belongs to the goroutine that runs Execute.
type turn struct {
	job   *backend.Job
	host  backend.Host
	meter *backend.Meter
	// form is that of the final answer, whichever agent gives it; nil for any.
	form *backend.OutputForm
	speaker
	stats plugins.Stats
	conversation
	inference
	// calls are those of the step's answer until their results are kept.
	calls []call
	// inStep is set while a step is not over.
	inStep bool
	// deadLetters are those of the agents that had the conversation before.
	deadLetters []execution.DeadLetter
	// stop is the end that a plugin asked for outside of AfterInference.
	stop *event.Termination
	// span observes the turn; nil when nobody does.
	span *telemetry.TurnSpan
	// watch ends the turn when a plugin takes too long.
	watch watch

	// kept is what a State carries besides.
	kept
}

// speaker is who has the conversation.
type speaker struct {
	// agent is the one that has it, and env what it runs with.
	agent  *spec.Agent
	env    *backend.Environment
	engine *execution.Engine
}

// conversation is what has been said.
type conversation struct {
	// transcript is the system prompt, if there is one, the conversation, and
	// what the turn adds, from first on. Requests are parts of it.
	transcript []model.Message
	prompt     int
	first      int
	// ids are those of the current step's messages.
	ids messageIDs
}

// inference is the model call of a step.
type inference struct {
	// answer is reused for every model call; takeIn is take, made once. over is
	// closed when the context of the call ends.
	answer  model.Answer
	takeIn  func(model.Event, error) bool
	failure error
	over    <-chan struct{}
	// deltas are the text deltas allocated last; those within its length are in use.
	deltas []event.TextDelta
	// call observes the model call.
	call telemetry.ModelSpan
	// plan is what the plugins made of the step's request.
	plan plugins.RequestPlan
}

// kept is the part of a turn's state that a State carries as it is.
type kept struct {
	response      string
	reason        model.FinishReason
	notes         []model.Message
	withoutTools  bool
	continuations int
	repairs       int
	handOff       string
	journal       []backend.JournalEntry
	resolved      map[string]interaction.Answer
}

// room is how many messages a turn's transcript has space for beyond the
// conversation: enough for most turns, so that it is not copied again.
const room = 6

func newTurn(job *backend.Job, host backend.Host) (*turn, error) {
	t := &turn{
		job: job, host: host, meter: job.Meter, form: job.Local.Output,
		speaker: speaker{agent: job.Agent, env: job.Local, engine: execution.NewEngine(job.Local.Env, job.Ceiling)},
	}
	t.takeIn, t.answer.Taken, t.answer.MaxCalls = t.takeEvent, t.wasCalled, maxCalls
	t.beginTranscript(len(job.History) + len(job.Input) + room)
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

// beginTranscript makes a transcript with room for a number of messages, and the agent's
// prompt.
func (t *turn) beginTranscript(messages int) {
	t.transcript, t.prompt = make([]model.Message, 0, 1+messages), 0
	if t.agent.SystemPrompt != "" {
		t.transcript = append(t.transcript, model.System(string(t.agent.SystemPrompt)))
		t.prompt = 1
	}
}

// syncHookView gives the engine what its hooks see.
func (t *turn) syncHookView() {
	c := &t.engine.Context
	c.TurnID, c.SessionID, c.Agent, c.Stats = t.job.TurnID, t.job.SessionID, t.agent, &t.stats
	c.Session = t.host.Session()
	t.engine.Emit, t.engine.Spend = t.host.Emit, t.countSpent
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

// turnResult returns what the turn came to, or how far it came.
func (t *turn) turnResult(termination event.Termination) *backend.Result {
	r := &backend.Result{
		Outcome: event.Outcome{
			Termination: termination, Response: t.response, Steps: t.stats.Steps, Usage: t.stats.Usage, FinishReason: t.reason,
		},
		Messages:    t.transcript[t.first:],
		Journal:     t.journal,
		DeadLetters: append(slices.Clip(t.deadLetters), t.engine.DeadLetters()...),
	}
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

// runSteps goes through the steps until one ends the turn.
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

// nextStep continues an unfinished or suspended step, or begins another one.
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

// saveCheckpoint hands out the turn's state, if somebody keeps it. The end that a
// plugin asked for comes first: it is not part of a state.
func (t *turn) saveCheckpoint(ctx context.Context) error {
	if t.job.Checkpoint == nil || t.stop != nil || ctx.Err() != nil {
		return nil
	}
	t.host.FlushSession()
	return t.job.Checkpoint(ctx, t.currentState())
}

// enterAgent runs the first phases of the agent that has the conversation.
func (t *turn) enterAgent(ctx context.Context) error {
	if err := t.runHooks(ctx, plugins.Activate, t.engine.Activate); err != nil {
		return err
	}
	return t.runHooks(ctx, plugins.RunStart, t.engine.Start)
}

// endTurn runs the last phases, whatever the turn ended by.
func (t *turn) endTurn(ctx context.Context, termination *event.Termination) error {
	ctx, cancel := lastContext(ctx)
	defer cancel()
	t.engine.Context.Termination = termination
	err := t.runLastPhase(ctx, plugins.RunEnd, t.engine.End)
	if failed := t.runLastPhase(ctx, plugins.Deactivate, t.deactivatePlugins); err == nil {
		err = failed
	}
	return err
}

// releaseTurn runs the last phase of a turn that goes on elsewhere, or later.
func (t *turn) releaseTurn(ctx context.Context) {
	ctx, cancel := lastContext(ctx)
	defer cancel()
	_ = t.runLastPhase(ctx, plugins.Deactivate, t.deactivatePlugins) // it fails by a dead letter, or the sink's panic
}

// deactivatePlugins runs the hooks of Deactivate.
func (t *turn) deactivatePlugins(ctx context.Context) error {
	t.engine.Deactivate(ctx)
	return nil
}

// lastContext returns the context of the last phases, one of their own when that
// of the turn has ended.
func lastContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), runEndLimit)
}

// runLastPhase runs one of the last phases and shows what it changed.
func (t *turn) runLastPhase(ctx context.Context, phase plugins.Phase, run lifecycle) (err error) {
	defer panics.Recover(&err)
	if err := t.runHooks(ctx, phase, run); err != nil {
		return err
	}
	t.showState()
	return nil
}

// runPhase runs the hooks of a phase on the current conversation. A hook that fails
// because the turn's context ended does not fail the turn: the turn ends with the
// context's own error.
func (t *turn) runPhase(ctx context.Context, phase plugins.Phase) error {
	if t.engine.Idle(phase) {
		return nil
	}
	return t.runHooks(ctx, phase, func(ctx context.Context) error { return t.engine.Run(ctx, phase) })
}

// lifecycle is a method of the engine that runs one of the phases at the ends.
type lifecycle func(ctx context.Context) error

// runHooks has the engine run a phase.
func (t *turn) runHooks(ctx context.Context, phase plugins.Phase, run lifecycle) error {
	if t.engine.Idle(phase) {
		return run(ctx) // it notes that the phase is over
	}
	t.engine.Context.Messages = t.transcript[t.prompt:]
	t.watch.beginPhase(phase)
	err := run(ctx)
	t.watch.stop()
	t.host.FlushSession()
	if stop := t.engine.StopRequest(); t.stop == nil {
		t.stop = stop
	}
	if to := t.engine.HandOffRequest(); to != "" && t.handOff == "" {
		t.handOff = to
	}
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return backend.Ended(ctx)
	}
	return err
}

// showState shows what the plugins remember, if that changed.
func (t *turn) showState() {
	if snapshot := t.engine.Snapshot(); snapshot != nil {
		t.host.Emit(&event.StateSnapshot{Snapshot: snapshot})
	}
}

// countSpent counts what a model call used and cost. A budget counts every price as if
// it were in its own currency, so that it lets no more through; what the turn is
// said to have cost is of one currency.
func (t *turn) countSpent(usage model.Usage, modelID string) {
	price := t.env.Pricing[modelID]
	cost := backend.Price(price, usage)
	t.meter.Spend(usage, cost)
	if price == nil {
		return
	}
	if t.stats.Currency == "" {
		t.stats.Currency = price.CurrencyCode()
	}
	if t.stats.Currency == price.CurrencyCode() {
		t.stats.Cost += cost
	}
}

// messageIDs are those of the messages that a step adds.
type messageIDs struct {
	step            int
	answer, results string
}

// answerID returns the id of the answer of the current step.
func (t *turn) answerID() string {
	t.beginIDs()
	if t.ids.answer == "" {
		t.ids.answer = t.messageID("m")
	}
	return t.ids.answer
}

// resultsID returns the id of the message with the results of the current step.
func (t *turn) resultsID() string {
	t.beginIDs()
	if t.ids.results == "" {
		t.ids.results = t.messageID("t")
	}
	return t.ids.results
}

// beginIDs forgets the ids of an earlier step.
func (t *turn) beginIDs() {
	if t.ids.step != t.stats.Steps {
		t.ids = messageIDs{step: t.stats.Steps}
	}
}

// messageID returns the id of the message that a step adds.
func (t *turn) messageID(kind string) string {
	return t.job.TurnID + "/" + kind + strconv.Itoa(t.stats.Steps)
}
