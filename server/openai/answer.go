package openai

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// answer is a segment of a turn that a client waits for.
type answer struct {
	*fold
	call *call
	turn *service.Turn
	// abandons is set if the turn ends with the request, for which alone it was made.
	abandons bool
	// refused are the interactions that were refused for the client.
	refused map[string]bool
}

func (c *call) newAnswer(turn *service.Turn, record turnRecord, segment int) *answer {
	return &answer{call: c, turn: turn, fold: newFold(turn.ID, turn.AgentID, record, segment), refused: map[string]bool{}}
}

// readAnswer returns a segment of a turn as far as the log goes now.
func (c *call) readAnswer(turn *service.Turn, record turnRecord, segment int) (*answer, error) {
	a := c.newAnswer(turn, record, segment)
	return a, c.ReadLog(turn.ID, a.Narrator)
}

// findTurn returns a turn of the surface. The error is service.ErrNotFound for turns of other
// protocols and callers.
func (c *call) findTurn(id string) (*service.Turn, turnRecord, error) {
	var record turnRecord
	turn, err := c.Service.GetTurn(c.Context(), c.Caller, id)
	if err == nil && !own.Decode(turn.Metadata, &record) {
		err = &service.NotFoundError{Kind: "turn", ID: id}
	}
	return turn, record, err
}

// AddRecords adds records of the log up to the end of the segment, and refuses questions that the
// protocol cannot express.
func (a *answer) AddRecords(ctx context.Context, records []event.Record) error {
	for i := range records {
		if err := a.Add(records[i : i+1]); err != nil || a.Ended() {
			return err
		}
	}
	for _, q := range a.Skipped {
		id := q.InteractionRequest.ID
		if a.refused[id] {
			continue
		}
		a.refused[id] = true
		refusal := interaction.Answer{Target: id, Action: interaction.Cancel, Reason: "nobody can be asked over chat completions: use the Responses API, or an agent that needs no approval"}
		if _, err := a.call.Service.AnswerInteraction(ctx, a.call.Caller, a.turn.ID, refusal); err != nil && !errors.As(err, new(*service.ConflictError)) {
			return err
		}
	}
	return nil
}

// stream answers with the segment as server-sent events.
func (a *answer) stream(w sink) {
	a.sink = w
	a.call.NewStream(a.turn).Serve(a.call.W, a.call.R, a)
}

// wait reads the segment to its end.
func (a *answer) wait() error { return a.call.NewStream(a.turn).Wait(a.call.Context(), a) }

// Fail writes an error, unless the server shuts down.
func (a *answer) Fail(err error) (ended bool) {
	if !errors.Is(err, server.ErrDraining) {
		a.sink.fail(describeError(a.call.Base, a.call.R, err))
	}
	return false
}

// cancelTime bounds how long it takes to cancel an abandoned turn.
const cancelTime = 10 * time.Second

// Leave cancels the turn if its client disconnected, unless the turn waits for the client or
// runs in the background. A server that is shutting down leaves the turn to the next one.
func (a *answer) Leave(ctx context.Context, err error) {
	if !a.abandons || errors.Is(context.Cause(ctx), server.ErrDraining) || ctx.Err() == nil && !errors.Is(err, server.ErrClientGone) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	turn, err := a.call.Service.GetTurn(ctx, a.call.Caller, a.turn.ID)
	if err == nil && turn.Status != service.Waiting && turn.Status.Live() {
		_, _ = a.call.Service.CancelTurn(ctx, a.call.Caller, turn.ID, "the client is gone") // it ends by itself otherwise
	}
}

// functionOutput is the output of a client's function, or the decision on an approval.
type functionOutput struct {
	callID, output string
	// approve is set for the answer to a request for approval.
	approve *bool
	reason  string
}

// resume answers the questions of a turn, and returns the next segment; nil if no turn of the
// caller waits for the outputs. The same outputs after the same messages return the same segment.
func (c *call) resume(prefix, agent string, in *input) (*answer, error) {
	last := in.outputs[len(in.outputs)-1].callID
	core, _ := splitItemID(last)
	turn, record, err := c.findTurn(prefix + core)
	if errors.Is(err, service.ErrNotFound) || err == nil && turn.AgentID != agent {
		return nil, nil //nolint:nilnil // they are for none
	}
	if err != nil {
		return nil, err
	}
	a, err := c.readAnswer(turn, record, 0)
	if err != nil {
		return nil, err
	}
	if q := a.questionOf(last); q != nil && q.Answered && in.isEdited(core, &record) {
		return nil, nil //nolint:nilnil // the client edited the history
	}
	outputs := slices.DeleteFunc(slices.Clone(in.outputs), func(o functionOutput) bool { // of earlier turns
		other, _ := splitItemID(o.callID)
		return other != core
	})
	return a.answerQuestions(outputs, in.said)
}

// answerQuestions answers all that a segment of a turn ended with: the one of the last
// output, or without any the wanted one.
func (a *answer) answerQuestions(outputs []functionOutput, said []model.Part) (*answer, error) {
	segment := a.want
	given := make(map[*surfacekit.Question]*functionOutput, len(outputs))
	for i := len(outputs) - 1; i >= 0; i-- {
		q := a.questionOf(outputs[i].callID)
		switch {
		case q == nil:
			return nil, badField("input", "No tool call found for output with call_id '%s'.", clip.Text(outputs[i].callID))
		case i == len(outputs)-1:
			segment = q.Segment
		case q.Segment != segment && !a.questionOf(outputs[len(outputs)-1].callID).Answered:
			continue // it was answered before
		case given[q] != nil:
			return nil, badField("input", "There are two outputs for the call '%s'.", clip.Text(outputs[i].callID))
		}
		given[q] = &outputs[i]
	}
	var answers []interaction.Answer
	for _, q := range a.Questions {
		asked, output := a.asked[q], given[q]
		if asked == nil || q.Segment != segment && output == nil {
			continue
		}
		if output == nil && asked.Type == itemMessage {
			output, said = &functionOutput{output: model.PartsText(said)}, nil
		}
		if output == nil && q.Answered {
			continue // by somebody else
		}
		if output == nil {
			return nil, badField("input", "No tool output found for function call %s.", asked.publicID())
		}
		answered, err := output.toAnswer(a.call.Context(), q, asked)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answered)
	}
	if len(answers) == 0 {
		return nil, badField("previous_response_id", "The calls of this response have been answered: continue from the response that followed.")
	}
	turn, err := a.call.AnswerTurn(a.turn.ID, answers, model.Message{Role: model.RoleUser, Parts: said})
	if err != nil {
		return nil, err
	}
	return a.call.newAnswer(turn, a.turnRecord, segment+1), nil
}

// answerRequest answers the waiting turn with a request, which names its agent.
func (a *answer) answerRequest(asked *turnRequest) (*answer, error) {
	if a.turn.AgentID != asked.agent {
		return nil, badField("model", "The response waits for answers to the model '%s', and model is '%s'.", clip.Text(a.turn.AgentID), clip.Text(asked.agent))
	}
	return a.answerQuestions(asked.outputs, asked.said)
}

// toAnswer returns the answer to a question.
func (o *functionOutput) toAnswer(ctx context.Context, q *surfacekit.Question, asked *item) (interaction.Answer, error) {
	switch {
	case asked.Type == itemFunction:
		return surfacekit.AnswerCall(q.InteractionRequest, clienttool.Answer{Result: &o.output})
	case asked.Type == itemApproval && o.approve == nil:
		return interaction.Answer{}, badField("input", "The request for approval %s needs an mcp_approval_response.", asked.ID)
	case asked.Type == itemApproval:
		return surfacekit.AnswerApproval(ctx, q.InteractionRequest, *o.approve, o.reason)
	default:
		return surfacekit.AnswerText(ctx, q.InteractionRequest, o.output)
	}
}
