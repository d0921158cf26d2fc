// Package local is the backend on which declared agents run: a loop that asks
// the model, runs the tools it calls for, and asks again, until the model has
// nothing more to do or something ends the turn.
package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// Backend runs turns on the local loop. The zero value is ready to use.
type Backend struct{}

var _ backend.Backend = Backend{}

// runEndLimit is how long the plugins may take to finish when the turn's own
// context has ended.
const runEndLimit = 5 * time.Second

// Profile returns what the loop can do.
func (Backend) Profile() backend.Profile { return backend.LocalProfile() }

// Execute runs one turn. The result is never nil: with an error it says how far
// the turn came.
func (Backend) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	if job.Local == nil {
		return &backend.Result{}, fmt.Errorf("run agent %s: it has no local environment", job.Agent.ID)
	}
	t := newTurn(job, host)
	termination, err := t.run(ctx)
	if err != nil {
		termination = backend.TerminationOf(err)
	}
	if endErr := t.end(ctx, &termination); endErr != nil && err == nil {
		termination, err = backend.TerminationOf(endErr), endErr
	}
	return &backend.Result{
		Termination: termination,
		Response:    t.response,
		Messages:    t.transcript[t.first:],
		Steps:       t.stats.Steps,
		Usage:       t.stats.Usage,
		Tickets:     t.tickets,
		DeadLetters: t.engine.DeadLetters(),
	}, err
}

// turn is one turn on the loop. It belongs to the goroutine that runs Execute.
type turn struct {
	job    *backend.Job
	env    *backend.Environment
	host   backend.Host
	engine *plugins.Engine
	stats  plugins.Stats

	// transcript is the system prompt, if there is one, the conversation, and
	// what the turn adds, from first on. Requests are parts of it.
	transcript []model.Message
	prompt     int
	first      int

	// answer is reused for every model call; takeIn is take, made once. over is
	// closed when the context of the call ends.
	answer   model.Answer
	takeIn   func(model.Event, error) bool
	failure  error
	over     <-chan struct{}
	response string
	tickets  []*plugins.Ticket
	// plan is what the plugins made of the step's request.
	plan plugins.RequestPlan
	// calls are those of the step's answer until their results are kept.
	calls []call
	// stop is the end that a plugin asked for outside of AfterInference.
	stop *event.Termination
}

// room is how many messages a turn's transcript has space for beyond the
// conversation: enough for most turns, so that it is not copied again.
const room = 6

func newTurn(job *backend.Job, host backend.Host) *turn {
	t := &turn{job: job, env: job.Local, host: host, engine: plugins.NewEngine(job.Local.Env, job.Ceiling)}
	t.takeIn = t.take
	t.transcript = make([]model.Message, 0, 1+len(job.History)+len(job.Input)+room)
	if job.Agent.SystemPrompt != "" {
		t.transcript = append(t.transcript, model.System(string(job.Agent.SystemPrompt)))
		t.prompt = 1
	}
	t.transcript = append(t.transcript, job.History...)
	t.transcript = append(t.transcript, job.Input...)
	t.first = len(t.transcript)
	t.stats.Started = time.Now()
	c := &t.engine.Context
	c.TurnID, c.SessionID, c.Agent, c.Stats = job.TurnID, job.SessionID, job.Agent, &t.stats
	return t
}

// run goes through the steps until one ends the turn.
func (t *turn) run(ctx context.Context) (termination event.Termination, err error) {
	if err := t.phase(ctx, plugins.RunStart); err != nil {
		return event.Termination{}, err
	}
	for {
		if err := backend.Ended(ctx); err != nil {
			return event.Termination{}, err
		}
		if t.stop != nil {
			return *t.stop, nil
		}
		ended, err := t.step(ctx)
		if err != nil {
			return event.Termination{}, err
		}
		if ended != nil {
			return *ended, nil
		}
	}
}

// end runs the last phase, whatever the turn ended by. Its hooks get a context
// of their own when that of the turn has ended.
func (t *turn) end(ctx context.Context, termination *event.Termination) (err error) {
	defer recovered(&err)
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), runEndLimit)
		defer cancel()
	}
	t.engine.Context.Termination = termination
	if err := t.phase(ctx, plugins.RunEnd); err != nil {
		return err
	}
	t.showState()
	return nil
}

// recovered, deferred, turns a panic into an error. What panics on the turn's
// own goroutine is the model's executor or the sink of the events.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = backend.Panicked(v)
	}
}

// phase runs the hooks of a phase on the conversation as it stands. A hook that
// gives up because the turn's context ended does not fail the turn: it ends
// because the context did.
func (t *turn) phase(ctx context.Context, phase plugins.Phase) error {
	t.engine.Context.Messages = t.transcript[t.prompt:]
	stop, err := t.engine.Run(ctx, phase)
	if stop != nil && t.stop == nil {
		t.stop = stop
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

// messageID returns the id of the message that a step adds.
func (t *turn) messageID(kind string) string {
	return t.job.TurnID + "/" + kind + strconv.Itoa(t.stats.Steps)
}
