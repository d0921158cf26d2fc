package agentruns

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// toolAnswer is the client's result of a call.
type toolAnswer struct {
	toolUseID string
	clienttool.Answer
}

// forClient reports whether an interaction is for the client of a run: a call that the client makes
// itself, or a question for a person.
func forClient(action string) bool {
	return action == clienttool.Action || action == tools.ActionAsk || action == tools.ActionAuthorize
}

// questionArgs returns a question as call arguments: its text, the format of its answer, and its
// details.
func questionArgs(d *event.InteractionRequest) json.RawMessage {
	args := make(map[string]json.RawMessage)
	_ = json.Unmarshal(d.Parameters, &args) // they are the tool's own
	args["question"] = encodeJSON(d.Message)
	if len(d.ResponseSchema) > 0 {
		args["response_schema"] = d.ResponseSchema
	}
	return encodeJSON(args)
}

// answerText returns an answer as text: a string as it is, or JSON.
func answerText(result json.RawMessage) string {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return text
	}
	return string(result)
}

// resolutionOf converts a client's answer to an interaction answer. An error rejects a question.
func resolutionOf(ctx context.Context, request *interaction.Request, answer *toolAnswer) (interaction.Answer, error) {
	r := interaction.Answer{Target: request.ID, Action: interaction.Resume}
	var err error
	switch {
	case request.Action == clienttool.Action:
		r.Result, err = json.Marshal(answer.Answer)
	case answer.Files != nil:
		err = newInvalid("files answer the call of a tool, not a question")
	case answer.Error != nil:
		r.Action, r.Reason = interaction.Cancel, *answer.Error
	default:
		if r.Result, err = interaction.ReadAnswer(ctx, request, *answer.Result); err != nil {
			err = newInvalid("the result does not answer the question: %s", err)
		}
	}
	return r, err
}
