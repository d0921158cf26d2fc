package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/uuid"
)

// cancelTime is how long a server may take to end a turn, and then to report it.
const cancelTime = 10 * time.Second

// storedRun is a run whose turn is stored by its worker.
type storedRun struct {
	// id is the turn's id. agent is its agent; empty for the session's current one. takes is set if
	// agent takes over the conversation; otherwise it has the conversation only in a session of
	// another agent.
	id, agent string
	takes     bool
	// delegates also shows the events of delegates.
	delegates bool
	// session is the session that the run continues; empty for a new one.
	session string
	// busy is the policy if the session has another turn.
	busy service.BusyPolicy
	// model replaces the agent's model unless empty.
	model string
	// tools are all tools that the turn may call; nil means all of the agent's.
	tools spec.Names
	// input is the turn's input and variables its variables.
	input     []model.Message
	variables json.RawMessage
}

// newTurnID returns an id for a turn. It is generated here so that the turn can be ended even if
// the reply is lost.
func newTurnID() string { return uuid.Must(uuid.NewV7()).String() }

// runStored creates a turn with a prompt, follows it to its end and shows the result.
func (p *program) runStored(ctx context.Context, where *place, r storedRun, q *prompt, out *turnview.Printer, a *question.Answerer) error {
	if err := q.ask(ctx, a); err != nil {
		return ignoreNoPrompt(err)
	}
	r.input = []model.Message{model.User(q.text)}
	if a != nil {
		a.Session, a.Screen = "which is kept, also for later turns", out.Screen
	}
	turn, err := beginTurn(ctx, where, &r, out)
	if err != nil {
		return err
	}
	result, err := turn.Run(ctx, out, a)
	if result == nil && ctx.Err() == nil {
		fmt.Fprintf(p.Err, "! the turn continues without this command: %s events %s %s --follow\n", p.Command(), where.name, turn.id)
	}
	if result != nil && result.Status == event.StatusFailed && err == nil {
		t := &result.Termination
		err = &runtime.TurnError{TurnID: result.TurnID, Agent: result.Agent, Termination: *t, Err: errors.New(cmp.Or(t.Detail, string(t.Type)))}
	}
	err = p.conclude(out, result, err)
	if result != nil && result.Status == event.StatusWaiting {
		fmt.Fprintf(p.Err, "! it continues when it is answered: %s turns resolve %s %s INTERACTION\n", p.Command(), where.name, turn.id)
	}
	return err
}

// remoteTurn is a turn run by a server.
type remoteTurn struct {
	*place
	id     string
	filter service.EventFilter
	done   chan struct{}

	// Known from its events: the current agent, the usage, why the last answer ended, and the
	// number of artifacts.
	agent  string
	usage  model.Usage
	finish model.FinishReason
	made   int
}

// beginTurn makes a turn.
func beginTurn(ctx context.Context, at *place, r *storedRun, out *turnview.Printer) (*remoteTurn, error) {
	session, made, err := sessionOf(ctx, at, r.session, r.agent)
	if err != nil {
		return nil, err
	}
	if made && r.session != "" {
		out.Work("! session %s is new", session.ID)
	}
	agent := r.agent
	if !r.takes {
		agent = namedAgent(session, agent)
	}
	t := &remoteTurn{place: at, id: r.id, filter: eventFilter(r.delegates), agent: r.agent, done: make(chan struct{})}
	if at.workOn != nil {
		at.workOn(t.id)
	}
	_, err = at.CreateTurn(ctx, native.CreateTurn{
		SessionID: session.ID, ID: t.id, AgentID: agent, Input: r.input, ModelID: r.model, ToolIDs: r.tools, Variables: r.variables, OnBusy: r.busy,
	})
	if err != nil && ctx.Err() != nil {
		t.Cancel(context.Cause(ctx))
	}
	return t, err
}

// Done returns a channel that is closed when the turn ends.
func (t *remoteTurn) Done() <-chan struct{} { return t.done }

// Open returns the turn's open interactions.
func (t *remoteTurn) Open(ctx context.Context) ([]*interaction.Request, error) {
	list, err := t.ListInteractions(ctx, t.id)
	if err != nil {
		return nil, err
	}
	var open []*interaction.Request
	for i := range list {
		if list[i].State == store.InteractionPending {
			open = append(open, &list[i].Request)
		}
	}
	return open, nil
}

// Answer answers an interaction. It is not an error if it was already answered.
func (t *remoteTurn) Answer(ctx context.Context, r interaction.Answer) error {
	_, err := t.AnswerInteraction(ctx, t.id, r)
	if errors.As(err, new(*store.ConflictError)) || errors.As(err, new(*store.StateError)) {
		return nil
	}
	return err
}

// Cancel ends the turn. If that fails, the turn continues and the follower receives the error.
func (t *remoteTurn) Cancel(reason error) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
	defer cancel()
	text := "canceled by the client"
	if reason != nil && !errors.Is(reason, context.Canceled) {
		text = reason.Error()
	}
	_, _ = t.CancelTurn(ctx, t.id, text)
}

// reading is an event of the turn or a read error.
type reading struct {
	record event.Record
	err    error
}

// Run follows the turn to its end, answers its interactions if there is an answerer, and returns
// the result. If ctx ends, it ends the turn.
func (t *remoteTurn) Run(ctx context.Context, out event.Sink, a *question.Answerer) (*runtime.Result, error) {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	log := make(chan reading)
	go func() {
		defer close(log)
		for record, err := range t.Events(following, t.id, 0, t.filter) {
			select {
			case log <- reading{record, err}:
			case <-following.Done():
				return
			}
		}
	}()
	answering := make(chan struct{})
	go func() {
		defer close(answering)
		if a != nil {
			a.Run(ctx, t)
		}
	}()
	err := t.follow(ctx, log, out, a)
	stop()
	close(t.done)
	for range log { // until the reader has ended
	}
	<-answering
	if err != nil {
		return nil, err
	}
	return t.result(context.WithoutCancel(ctx))
}

// follow shows the turn's events until it has ended or, without an answerer, waits. If ctx ends it
// ends the turn, and shows the progress for a while.
func (t *remoteTurn) follow(ctx context.Context, log <-chan reading, out event.Sink, a *question.Answerer) error {
	var given <-chan time.Time
	canceled := ctx.Done()
	for {
		select {
		case r, more := <-log:
			if !more || r.err != nil {
				return r.err
			}
			ev, err := r.record.Event()
			if err != nil {
				continue // a later version wrote it
			}
			out.Emit(ev)
			if len(ev.Path) > 0 {
				continue
			}
			t.note(ev.Data)
			switch ev.Data.(type) {
			case *event.InteractionRequest:
				if a != nil {
					a.Emit(ev)
				}
			case *event.RunWaiting:
				if a == nil && ctx.Err() == nil {
					return nil
				}
			case *event.RunFinish:
				return nil
			}
		case <-canceled:
			canceled = nil
			t.Cancel(context.Cause(ctx))
			given = time.After(cancelTime)
		case <-given:
			return ctx.Err()
		}
	}
}

// note records the turn's state from an event.
func (t *remoteTurn) note(data event.Data) {
	switch d := data.(type) {
	case *event.RunStart:
		t.agent = d.AgentID
	case *event.Handoff:
		t.agent = d.To
	case *event.InferenceComplete:
		t.usage.Add(d.Usage)
		t.finish = d.FinishReason
	case *event.Artifact:
		t.made++
	case *event.RunFinish:
		t.usage = d.Usage
	}
}

// result returns the turn's result, or that it waits.
func (t *remoteTurn) result(ctx context.Context) (*runtime.Result, error) {
	now, err := t.GetTurn(ctx, t.id)
	if err != nil {
		return nil, err
	}
	r := &runtime.Result{TurnID: t.id, SessionID: now.SessionID, Status: event.StatusWaiting, Artifacts: make([]tools.Artifact, t.made)}
	r.Outcome = event.Outcome{
		Agent: t.agent, Termination: event.Termination{Type: event.Suspended}, FinishReason: t.finish, Steps: now.Steps, Usage: t.usage,
	}
	if o := now.Outcome; o != nil {
		r.Outcome, r.Status = *o, o.Termination.Status()
		r.Agent, r.FinishReason, r.Steps = cmp.Or(o.Agent, t.agent), cmp.Or(o.FinishReason, t.finish), max(o.Steps, now.Steps)
		return r, nil
	}
	r.Interactions, err = t.Open(ctx)
	return r, err
}
