package agents

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// Begin starts a turn, or continues the turn that the input answers.
func (a *stored) Begin(ctx context.Context, init *wire.Init, input *wire.Input) (Run, error) {
	talk, err := a.openConversation(ctx, init)
	if err != nil {
		return nil, err
	}
	return a.beginRun(ctx, talk, input, DetachOptions{})
}

// Detach starts a turn in the background.
func (a *stored) Detach(ctx context.Context, init *wire.Init, input *wire.Input, o DetachOptions) (*wire.Output, error) {
	talk, err := a.openConversation(ctx, init)
	if err != nil {
		return nil, err
	}
	detached := *input
	detached.Detach = true
	run, err := a.beginRun(ctx, talk, &detached, o)
	if err != nil {
		return nil, err
	}
	return run.Output(ctx)
}

// beginRun starts or continues a turn. Problems with the input are part of the output.
func (a *stored) beginRun(ctx context.Context, talk *conversation, input *wire.Input, o DetachOptions) (Run, error) {
	run, problem, err := a.beginTurn(ctx, talk, input, o)
	switch {
	case err != nil:
		return nil, err
	case problem != nil:
		return settledRun{&wire.Output{SessionID: talk.id, SnapshotID: talk.lastGood, FinishReason: wire.FinishFailed, Error: problem}}, nil
	case input.Detach:
		return settledRun{detachedOutput(run)}, nil
	default:
		return run, nil
	}
}

// detachedOutput returns the output of a detached run.
func detachedOutput(run *storedRun) *wire.Output {
	return &wire.Output{SessionID: run.sessionID, SnapshotID: run.turn.ID, FinishReason: wire.FinishDetached}
}

// Connect opens a conversation for several turns.
func (a *stored) Connect(ctx context.Context, init *wire.Init) (Connection, error) {
	talk, err := a.openConversation(ctx, init)
	if err != nil {
		return nil, err
	}
	return &storedConnection{agent: a, talk: talk}, nil
}

// storedConnection is a conversation whose turns the service stores.
type storedConnection struct {
	agent *stored
	talk  *conversation
	// last is the latest turn, if any.
	last *storedRun
}

// SessionID returns the id of the session.
func (c *storedConnection) SessionID() string { return c.talk.id }

// Begin begins the next turn. The first one continues where the conversation was opened,
// and later ones at the end of the session.
func (c *storedConnection) Begin(ctx context.Context, input *wire.Input) (Run, error) {
	if err := c.noteLast(ctx); err != nil {
		return nil, err
	}
	run, err := c.agent.beginRun(ctx, c.talk, input, DetachOptions{})
	if begun, ok := run.(*storedRun); ok {
		c.last = begun
	}
	return run, err
}

// noteLast records the outcome of the latest turn.
func (c *storedConnection) noteLast(ctx context.Context) (err error) {
	if c.last == nil {
		if c.talk.session != nil && c.talk.waiting == nil && c.talk.snapshot == "" {
			c.talk.waiting, err = c.agent.findWaiting(ctx, c.talk.session.ID)
		}
		return err
	}
	turn := c.last.turn
	if c.last.output == nil {
		if turn, err = c.agent.getTurn(ctx, turn.ID); err != nil {
			return err
		}
	}
	c.talk.waiting = nil
	switch turn.Status {
	case service.Waiting:
		c.talk.waiting, c.talk.snapshot, c.talk.lastGood = turn, "", turn.ID
	case service.Succeeded:
		c.talk.snapshot, c.talk.lastGood = "", turn.ID
	}
	return nil
}

// DetachRun moves a run to the background.
func (c *storedConnection) DetachRun(_ context.Context, run Run) (*wire.Output, error) {
	begun, ok := run.(*storedRun)
	if !ok {
		return nil, newError(wire.StatusFailedPrecondition, "there is no turn to detach")
	}
	return detachedOutput(begun), nil // already in the background
}

// StreamID returns the snapshot's id, followed by the last event before the run.
func (r *storedRun) StreamID() string {
	if r.after == 0 {
		return r.turn.ID
	}
	return r.turn.ID + streamMark + strconv.FormatUint(r.after, 10)
}

// streamMark separates the parts of a stream id. Turn ids do not contain it.
const streamMark = "~"

// splitStreamID returns the parts of the id of a stream.
func splitStreamID(id string) (snapshotID string, after uint64) {
	snapshotID, text, _ := strings.Cut(id, streamMark)
	after, err := strconv.ParseUint(text, 10, 63)
	if text != "" && err != nil {
		return id, 0 // which is unknown
	}
	return snapshotID, after
}

// Follow returns the run of a turn from its first chunk.
func (a *stored) Follow(ctx context.Context, id string) (Run, error) {
	snapshotID, after := splitStreamID(id)
	turn, err := a.getTurn(ctx, snapshotID)
	if err != nil {
		return nil, err
	}
	sessionID, err := a.sessionIDOf(ctx, turn)
	if err != nil {
		return nil, err
	}
	return &storedRun{agent: a, turn: turn, sessionID: sessionID, after: after}, nil
}

// beginTurn starts a turn or continues an interrupted one. A problem becomes an error of the
// turn.
func (a *stored) beginTurn(ctx context.Context, talk *conversation, input *wire.Input, o DetachOptions) (run *storedRun, problem *wire.Error, err error) {
	if !input.Resume.IsEmpty() {
		return a.resumeTurn(ctx, talk, input)
	}
	if talk.waiting != nil {
		return nil, newError(wire.StatusFailedPrecondition, "the conversation is interrupted: answer its tool requests with resume.respond"), nil
	}
	messages, problem := messagesOf(input)
	if problem != nil {
		return nil, problem, nil
	}
	if err := a.ensureSession(ctx, talk); err != nil {
		return nil, nil, err
	}
	create := service.CreateTurn{SessionID: talk.session.ID, AgentID: a.name, Addressed: true, SnapshotID: talk.snapshot, Background: true, NotBefore: o.NotBefore, Deadline: o.Deadline, Metadata: o.Metadata, Input: messages}
	if len(messages) == 0 {
		create.Task = service.TaskNothing
	}
	kept, err := a.service.CreateTurn(ctx, a.caller, create)
	if err != nil {
		return nil, nil, nameError(err, "session", talk.id)
	}
	return &storedRun{agent: a, turn: kept, sessionID: talk.id}, nil, nil
}

// messagesOf returns the messages of an input without answers, or its problem. An input that only
// detaches has no messages, and its turn does nothing.
func messagesOf(input *wire.Input) ([]model.Message, *wire.Error) {
	switch {
	case input.Message != nil:
		message, problem := toModelMessage(input.Message)
		return []model.Message{message}, problem
	case input.Detach:
		return nil, nil
	default:
		return nil, newError(wire.StatusInvalidArgument, "a turn needs a message or resume")
	}
}

// resumeTurn answers a turn's open requests, after which it continues.
func (a *stored) resumeTurn(ctx context.Context, talk *conversation, input *wire.Input) (*storedRun, *wire.Error, error) {
	var open []*service.Interaction
	var asked []*interaction.Request
	if talk.waiting != nil {
		var err error
		if open, err = a.openInteractions(ctx, talk.waiting.ID); err != nil {
			return nil, nil, err
		}
	}
	for i := range open {
		asked = append(asked, &open[i].Request)
	}
	answers, problem := answersTo(ctx, asked, input)
	if problem != nil {
		return nil, problem, nil
	}
	for i := range answers {
		_, err := a.service.AnswerInteraction(ctx, a.caller, talk.waiting.ID, answers[i])
		if refused, ok := errors.AsType[*interaction.AnswerError](err); ok && i == 0 {
			return nil, newError(wire.StatusFailedPrecondition, "resume: %s", refused.Problem), nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return &storedRun{agent: a, turn: talk.waiting, sessionID: talk.id, after: talk.waiting.Seq}, nil, nil
}

// openInteractions returns a turn's open interactions.
func (a *stored) openInteractions(ctx context.Context, turnID string) ([]*service.Interaction, error) {
	return a.service.ListInteractions(ctx, a.caller, service.InteractionQuery{TurnID: turnID, State: service.InteractionPending})
}

// awaitTurn returns a turn once it ends or waits for a person.
func (a *stored) awaitTurn(ctx context.Context, id string, after uint64) (*service.Turn, error) {
	for record, err := range a.service.Events(ctx, a.caller, id, after) {
		if err != nil {
			return nil, err
		}
		if record.Type != event.TypeRunWaiting {
			continue
		}
		if t, err := a.service.GetTurn(ctx, a.caller, id); err == nil && t.Status == service.Waiting {
			return t, nil
		}
	}
	t, err := a.service.GetTurn(ctx, a.caller, id)
	if err == nil && t.Status.Live() && t.Status != service.Waiting {
		err = errors.New("the events of the turn ended before it")
	}
	return t, err
}

// settledRun is a run whose output is already known.
type settledRun struct{ output *wire.Output }

// StreamID returns the snapshot's id.
func (r settledRun) StreamID() string { return r.SnapshotID() }

// SnapshotID returns the id of the snapshot of a detached turn, or "".
func (r settledRun) SnapshotID() string {
	if r.output.FinishReason == wire.FinishDetached {
		return r.output.SnapshotID
	}
	return ""
}

// Chunks returns the end of a turn that failed; a detached one has no chunks.
func (r settledRun) Chunks(context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		if r.output.FinishReason != wire.FinishDetached {
			yield(&wire.Chunk{TurnEnd: turnEnd(r.output)}, nil)
		}
	}
}

// Output returns the output.
func (r settledRun) Output(context.Context) (*wire.Output, error) { return r.output, nil }

// storedRun is a turn of the service that was begun or continued.
type storedRun struct {
	agent     *stored
	turn      *service.Turn
	sessionID string
	// after is the last event from before the run.
	after uint64
	// output is the turn's output, once known.
	output *wire.Output
}

// SnapshotID returns the id of the turn.
func (r *storedRun) SnapshotID() string { return r.turn.ID }

// Output returns the turn's output.
func (r *storedRun) Output(ctx context.Context) (*wire.Output, error) {
	if r.output != nil {
		return r.output, nil
	}
	t, err := r.agent.awaitTurn(ctx, r.turn.ID, r.after)
	if err != nil {
		return nil, err
	}
	return r.settle(ctx, t)
}

// settle records the output of a turn that has ended or is interrupted.
func (r *storedRun) settle(ctx context.Context, t *service.Turn) (*wire.Output, error) {
	output, err := r.agent.toOutput(ctx, t, r.sessionID)
	if err != nil {
		return nil, err
	}
	r.turn, r.output = t, output
	return output, nil
}

// turnEnd returns the end of a turn with an output.
func turnEnd(output *wire.Output) *wire.TurnEnd {
	end := &wire.TurnEnd{FinishReason: output.FinishReason}
	if output.Error == nil {
		end.SnapshotID = output.SnapshotID
	}
	return end
}
