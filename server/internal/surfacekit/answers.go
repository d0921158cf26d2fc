package surfacekit

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// AnswerCall returns the answer to a client function call: its result, or an error.
func AnswerCall(q *event.InteractionRequest, output clienttool.Answer) (interaction.Answer, error) {
	result, err := json.Marshal(output)
	return interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: result}, err
}

// AnswerApproval returns the answer to a request for approval; reason may be empty. The error is an
// *interaction.AnswerError if the request cannot be approved.
func AnswerApproval(ctx context.Context, q *event.InteractionRequest, approved bool, reason string) (interaction.Answer, error) {
	if !approved {
		return interaction.Answer{Target: q.ID, Action: interaction.Cancel, Reason: reason}, nil
	}
	return AnswerText(ctx, q, "yes")
}

// AnswerText converts a text to an answer. The error is an *interaction.AnswerError.
func AnswerText(ctx context.Context, q *event.InteractionRequest, text string) (interaction.Answer, error) {
	result, err := interaction.ReadAnswer(ctx, &q.Request, text)
	return interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: result}, err
}

// AnswerTurn answers questions of a turn, adds the message that the user sent with the answers, and
// returns the turn.
func (r *Request) AnswerTurn(turnID string, answers []interaction.Answer, said model.Message) (*service.Turn, error) {
	if len(said.Parts) > 0 && len(answers) > 0 {
		message, err := json.Marshal(said)
		if err != nil {
			return nil, err
		}
		answers[len(answers)-1].Message = message
	}
	for _, a := range answers {
		if _, err := r.Service.AnswerInteraction(r.Context(), r.Caller, turnID, a); err != nil {
			return nil, err
		}
	}
	return r.Service.GetTurn(r.Context(), r.Caller, turnID)
}
