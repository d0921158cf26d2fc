package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// Answer is a segment of a turn that a client waits for.
type Answer struct {
	*Fold
	Call *Call
	Turn *service.Turn
	// Abandons is set if the turn was created only for this request and ends with it.
	Abandons bool
	// refused are the interactions that were refused on behalf of the client.
	refused map[string]bool
}

// NewAnswer returns a segment of a turn whose log has not been read.
func (c *Call) NewAnswer(turn *service.Turn, record Record, segment int) *Answer {
	return &Answer{Call: c, Turn: turn, Fold: NewFold(turn.ID, turn.AgentID, record, segment), refused: map[string]bool{}}
}

// ReadAnswer returns a segment of a turn with its events so far.
func (c *Call) ReadAnswer(turn *service.Turn, record Record, segment int) (*Answer, error) {
	a := c.NewAnswer(turn, record, segment)
	return a, c.ReadLog(turn.ID, a.Narrator)
}

// FindTurn returns a turn of the surface. The error is service.ErrNotFound for turns of other
// protocols and callers.
func (c *Call) FindTurn(id string) (*service.Turn, Record, error) {
	var record Record
	turn, err := c.Service.GetTurn(c.Context(), c.Caller, id)
	if err == nil && !Own.Decode(turn.Metadata, &record) {
		err = &service.NotFoundError{Kind: "turn", ID: id}
	}
	return turn, record, err
}

// AddRecords adds records of the log up to the end of the segment, and refuses questions that the
// protocol cannot express.
func (a *Answer) AddRecords(ctx context.Context, records []event.Record) error {
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
		if _, err := a.Call.Service.AnswerInteraction(ctx, a.Call.Caller, a.Turn.ID, refusal); err != nil && !errors.As(err, new(*service.ConflictError)) {
			return err
		}
	}
	return nil
}

// Stream responds with the segment as server-sent events.
func (a *Answer) Stream(w Sink) {
	a.Sink = w
	a.Call.StreamTurn(a.Turn, a)
}

// Await reads the segment to its end.
func (a *Answer) Await() error { return a.Call.AwaitTurn(a.Turn, a) }

// Fail writes an error unless the server is shutting down.
func (a *Answer) Fail(err error) (ended bool) {
	if !errors.Is(err, server.ErrDraining) {
		a.Sink.Fail(DescribeError(a.Call.Base, a.Call.R, err))
	}
	return false
}

// cancelTime is the timeout for canceling an abandoned turn.
const cancelTime = 10 * time.Second

// Leave cancels the turn if its client disconnected, unless the turn waits for the client or
// runs in the background. A server that is shutting down leaves the turn to the next one.
func (a *Answer) Leave(ctx context.Context, err error) {
	if !a.Abandons || errors.Is(context.Cause(ctx), server.ErrDraining) || ctx.Err() == nil && !errors.Is(err, server.ErrClientGone) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	turn, err := a.Call.Service.GetTurn(ctx, a.Call.Caller, a.Turn.ID)
	if err == nil && turn.Status != service.Waiting && turn.Status.Live() {
		_, _ = a.Call.Service.CancelTurn(ctx, a.Call.Caller, turn.ID, "the client is gone") // otherwise it ends by itself
	}
}

// resume answers the questions of a turn, and returns the next segment; nil if no turn of the
// caller waits for the outputs. The same outputs after the same messages return the same segment.
func (c *Call) resume(prefix, agent string, in *Input) (*Answer, error) {
	last := in.Outputs[len(in.Outputs)-1].CallID
	core, _ := SplitItemID(last)
	turn, record, err := c.FindTurn(prefix + core)
	if errors.Is(err, service.ErrNotFound) || err == nil && turn.AgentID != agent {
		return nil, nil //nolint:nilnil // they are for none
	}
	if err != nil {
		return nil, err
	}
	a, err := c.ReadAnswer(turn, record, 0)
	if err != nil {
		return nil, err
	}
	if q := a.questionOf(last); q != nil && q.Answered && in.isEdited(core, &record) {
		return nil, nil //nolint:nilnil // the client edited the history
	}
	outputs := slices.DeleteFunc(slices.Clone(in.Outputs), func(o Output) bool { // of earlier turns
		other, _ := SplitItemID(o.CallID)
		return other != core
	})
	return a.answerQuestions(outputs, in.Said)
}

// answerQuestions answers all questions of a turn's segment: the segment of the last output, or
// without outputs the wanted one.
func (a *Answer) answerQuestions(outputs []Output, said []model.Part) (*Answer, error) {
	segment := a.Want
	given := make(map[*surfacekit.Question]*Output, len(outputs))
	for i := len(outputs) - 1; i >= 0; i-- {
		q := a.questionOf(outputs[i].CallID)
		switch {
		case q == nil:
			return nil, BadField("input", "No tool call found for output with call_id '%s'.", clip.Text(outputs[i].CallID))
		case i == len(outputs)-1:
			segment = q.Segment
		case q.Segment != segment && !a.questionOf(outputs[len(outputs)-1].CallID).Answered:
			continue // it was answered before
		case given[q] != nil:
			return nil, BadField("input", "There are two outputs for the call '%s'.", clip.Text(outputs[i].CallID))
		}
		given[q] = &outputs[i]
	}
	var answers []interaction.Answer
	for _, q := range a.Questions {
		asked, output := a.Shown[q], given[q]
		if asked == nil || q.Segment != segment && output == nil {
			continue
		}
		if output == nil && asked.Type == ItemMessage {
			output, said = &Output{Output: model.PartsText(said)}, nil
		}
		if output == nil && q.Answered {
			continue // by somebody else
		}
		if output == nil {
			return nil, BadField("input", "No tool output found for function call %s.", asked.publicID())
		}
		answered, err := output.toAnswer(a.Call.Context(), q, asked)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answered)
	}
	if len(answers) == 0 {
		return nil, BadField("previous_response_id", "The calls of this response have been answered: continue from the response that followed.")
	}
	turn, err := a.Call.AnswerTurn(a.Turn.ID, answers, model.Message{Role: model.RoleUser, Parts: said})
	if err != nil {
		return nil, err
	}
	return a.Call.NewAnswer(turn, a.Record, segment+1), nil
}

// AnswerRequest answers the waiting turn with a request that names its agent.
func (a *Answer) AnswerRequest(asked *Request) (*Answer, error) {
	if a.Turn.AgentID != asked.Agent {
		return nil, BadField("model", "The response waits for answers to the model '%s', and model is '%s'.", clip.Text(a.Turn.AgentID), clip.Text(asked.Agent))
	}
	return a.answerQuestions(asked.Outputs, asked.Said)
}

// toAnswer returns the answer to a question.
func (o *Output) toAnswer(ctx context.Context, q *surfacekit.Question, asked *Item) (interaction.Answer, error) {
	switch {
	case asked.Type != ItemApproval && o.approve != nil:
		return interaction.Answer{}, BadField("input", "%s is not a request for approval.", asked.publicID())
	case asked.Type == ItemFunction:
		return surfacekit.AnswerCall(q.InteractionRequest, clienttool.Answer{Result: &o.Output})
	case asked.Type == ItemApproval && o.approve == nil:
		return interaction.Answer{}, BadField("input", "The request for approval %s needs an mcp_approval_response.", asked.ID)
	case asked.Type == ItemApproval:
		return surfacekit.AnswerApproval(ctx, q.InteractionRequest, *o.approve, o.reason)
	default:
		return surfacekit.AnswerText(ctx, q.InteractionRequest, o.Output)
	}
}
