package agents

import (
	"context"
	"errors"
	"iter"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/service"
)

// Begin begins a turn, or continues the one that the input answers.
func (a *stored) Begin(ctx context.Context, init *wire.Init, input *wire.Input) (Run, error) {
	talk, err := a.openConversation(ctx, init)
	if err != nil {
		return nil, err
	}
	run, problem, err := a.beginTurn(ctx, talk, input)
	switch {
	case err != nil:
		return nil, err
	case problem != nil:
		return settledRun{&wire.Output{SessionID: talk.id, SnapshotID: talk.lastGood, FinishReason: wire.FinishFailed, Error: problem}}, nil
	case input.Detach:
		return settledRun{&wire.Output{SessionID: talk.id, SnapshotID: run.turn.ID, FinishReason: wire.FinishDetached}}, nil
	default:
		return run, nil
	}
}

// Follow returns the run of a turn from its first chunk.
func (a *stored) Follow(ctx context.Context, snapshotID string) (Run, error) {
	turn, err := a.getTurn(ctx, snapshotID)
	if err != nil {
		return nil, err
	}
	sessionID, err := a.sessionIDOf(ctx, turn)
	if err != nil {
		return nil, err
	}
	return &storedRun{agent: a, turn: turn, sessionID: sessionID}, nil
}

// beginTurn begins a turn or continues one that was interrupted. A problem is an error
// of the turn.
func (a *stored) beginTurn(ctx context.Context, talk *conversation, input *wire.Input) (run *storedRun, problem *wire.Error, err error) {
	if !input.Resume.IsEmpty() {
		return a.resumeTurn(ctx, talk, input)
	}
	if talk.waiting != nil {
		return nil, newError(wire.StatusFailedPrecondition, "the conversation is interrupted: answer its tool requests with resume.respond"), nil
	}
	if input.Message == nil {
		return nil, newError(wire.StatusInvalidArgument, "a turn needs a message or resume"), nil
	}
	message, problem := toModelMessage(input.Message)
	if problem != nil {
		return nil, problem, nil
	}
	if err := a.ensureSession(ctx, talk); err != nil {
		return nil, nil, err
	}
	create := service.CreateTurn{SessionID: talk.session.ID, AgentID: a.name, SnapshotID: talk.snapshot, Background: true}
	create.Input = append(create.Input, message)
	kept, err := a.service.CreateTurn(ctx, a.caller, create)
	if err != nil {
		return nil, nil, nameError(err, "session", talk.id)
	}
	return &storedRun{agent: a, turn: kept, sessionID: talk.id}, nil, nil
}

// resumeTurn answers what interrupted a turn, which then continues.
func (a *stored) resumeTurn(ctx context.Context, talk *conversation, input *wire.Input) (*storedRun, *wire.Error, error) {
	switch {
	case len(input.Resume.Restart) > 0:
		return nil, newError(wire.StatusUnimplemented, "resume.restart is not supported: answer with resume.respond"), nil
	case input.Message != nil:
		return nil, newError(wire.StatusUnimplemented, "a message cannot accompany resume: send it in the next turn"), nil
	case talk.waiting == nil:
		return nil, newError(wire.StatusInvalidArgument, "resume.respond answers no open tool request of the conversation"), nil
	}
	turn := talk.waiting
	open, err := a.openInteractions(ctx, turn.ID)
	if err != nil {
		return nil, nil, err
	}
	answers := make([]interaction.Answer, 0, len(open))
	for _, asked := range open {
		response := findResponse(input.Resume.Respond, &asked.Request)
		if response == nil {
			return nil, newError(wire.StatusInvalidArgument, "resume.respond has no toolResponse for the tool %q with ref %q", asked.Request.Tool, asked.Request.CallID), nil
		}
		answer := interaction.Answer{Target: asked.ID, Action: interaction.Resume, Result: response.Output}
		if err := interaction.Check(&asked.Request, &answer); err != nil {
			return nil, newError(wire.StatusInvalidArgument, "resume.respond: %s", err), nil
		}
		answers = append(answers, answer)
	}
	if len(input.Resume.Respond) != len(answers) {
		return nil, newError(wire.StatusInvalidArgument, "resume.respond has %d parts; the conversation has %d open tool requests", len(input.Resume.Respond), len(answers)), nil
	}
	for i := range answers {
		if _, err := a.service.AnswerInteraction(ctx, a.caller, turn.ID, answers[i]); err != nil {
			return nil, nil, err
		}
	}
	return &storedRun{agent: a, turn: turn, sessionID: talk.id, after: turn.Seq}, nil, nil
}

// findResponse returns the response to an interaction, or nil.
func findResponse(parts []wire.Part, asked *interaction.Request) *wire.ToolResponse {
	for i := range parts {
		if r := parts[i].ToolResponse; r.Name == asked.Tool && r.Ref == asked.CallID {
			return r
		}
	}
	return nil
}

// openInteractions returns what a turn waits for.
func (a *stored) openInteractions(ctx context.Context, turnID string) ([]*service.Interaction, error) {
	return a.service.ListInteractions(ctx, a.caller, service.InteractionQuery{TurnID: turnID, State: service.InteractionPending})
}

// awaitTurn returns a turn once it has ended or waits for a person.
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

// settledRun is a run whose output is known at once.
type settledRun struct{ output *wire.Output }

// SnapshotID returns the id of the snapshot of a detached turn, or "".
func (r settledRun) SnapshotID() string {
	if r.output.FinishReason == wire.FinishDetached {
		return r.output.SnapshotID
	}
	return ""
}

// Chunks returns the end of a turn that failed; a detached one has no chunks.
func (r settledRun) Chunks(context.Context, service.Waiter) iter.Seq2[*wire.Chunk, error] {
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
	// output is what the turn came to, once that is known.
	output *wire.Output
}

// SnapshotID returns the id of the turn.
func (r *storedRun) SnapshotID() string { return r.turn.ID }

// Output returns what the turn came to.
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

// settle keeps the output of a turn that has ended or is interrupted.
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
