package a2a

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
)

// remote runs turns at one peer.
type remote struct{ peer *client.Peer }

var (
	_ backend.Backend = (*remote)(nil)
	_ backend.Aborter = (*remote)(nil)
)

// Profile returns a peer's capabilities. A turn continues from its state alone, even days later in
// another process; the peer receives the new part of the conversation and the remaining budgets,
// and its reported usage counts against them.
func (*remote) Profile() backend.Profile {
	return backend.Profile{
		Continuation: backend.ContinueRemote,
		Decisions:    backend.DecisionsDurable,
		Overrides:    backend.LevelNone,
		Budgets:      backend.BudgetsEnforced,
		Persistence:  backend.PersistCheckpoint,
		Transcript:   backend.TranscriptFull,
	}
}

// Execute runs one turn at the peer, from its start or from job.State. The result is never nil.
// With backend.ErrYield, or when the turn continues on another worker, the peer's task keeps
// running; in all other cases it ends with the turn.
func (r *remote) Execute(ctx context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
	t, err := newTurn(r.peer, job, host)
	if err != nil {
		return &backend.Result{}, err
	}
	if t.waits.isSuspended() && len(t.waits.answers) == 0 && ctx.Err() == nil { // nobody has answered
		return t.turnResult(event.Termination{Type: event.Suspended}), nil
	}
	ctx, cancel := t.withTimeLimit(ctx)
	defer cancel()
	termination, err := t.runExchange(ctx)
	switch {
	case err == nil:
		return t.turnResult(termination), nil
	case errors.Is(err, backend.ErrYield):
		result := t.turnResult(event.Termination{})
		result.State = t.currentState()
		return result, backend.ErrYield
	case backend.Released(ctx):
		return t.turnResult(event.Termination{}), err
	}
	if ctx.Err() != nil || !errors.As(err, new(*checkpointError)) { // otherwise another worker may continue from the last state
		t.exchange.Abandon(ctx)
	}
	t.endStep()
	if t.response == "" {
		t.response = t.exchange.Text()
	}
	return t.turnResult(backend.TerminationOf(err)), err
}

// Abort ends the task of a turn that was ended here. An error means that the task may still be
// running.
func (r *remote) Abort(ctx context.Context, state *backend.State) error {
	if state == nil || state.Remote == nil {
		return nil
	}
	c, err := decodeCourse(state.Remote.Resume)
	if err != nil {
		return err
	}
	switch {
	case c.Peer != r.peer.Target():
		return fmt.Errorf("end the task at peer %s: %w", c.Peer, errOtherPeer)
	case c.TaskID == "":
		return r.peer.Fail(client.CodeUnreachable, "", "the peer got a message, but did not return a task", nil)
	}
	return r.peer.CancelTask(ctx, c.TaskID)
}

// turnResult returns the turn's result, or its progress.
func (t *turn) turnResult(termination event.Termination) *backend.Result {
	r := &backend.Result{
		Outcome: event.Outcome{Termination: termination, Response: t.response, Steps: t.stats.Steps, Usage: t.stats.Usage},
		Session: rememberContext(t.job.Session, t.job.Agent.ID, t.peer.Target(), t.exchange.Position().ContextID),
	}
	if t.stats.Currency != "" {
		r.Cost = &event.Cost{Amount: t.stats.Cost, Currency: t.stats.Currency}
	}
	switch termination.Type {
	case event.Suspended:
		r.State = t.currentState()
		r.Interactions = r.State.Interactions()
	case "":
	default:
		r.Messages = t.addedMessages()
	}
	return r
}

// addedMessages returns the messages that the turn adds to the conversation.
func (t *turn) addedMessages() []model.Message {
	if t.response == "" {
		return nil
	}
	answer := model.Assistant(t.response)
	answer.ID = t.answerID()
	return []model.Message{answer}
}
