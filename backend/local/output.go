package local

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// maxRepairs is how often an answer that does not match the schema is requested again.
const maxRepairs = 1

// concludeTurn ends the turn with its last answer, if it matches the schema and is complete or need
// not be. If it does not match, it is requested once more, without tools.
func (t *turn) concludeTurn(ctx context.Context) (stepResult, error) {
	if t.reason == model.FinishMaxTokens && t.agent.OnTruncation == spec.TruncationFails {
		return stepResult{}, &model.Error{Class: model.Truncated, Message: "the output limit cut the answer off"}
	}
	if t.reason == model.FinishMaxTokens && strings.TrimSpace(t.response) == "" && strings.TrimSpace(t.lastAnswer().Text()) == "" {
		return stepResult{}, &model.Error{Class: model.EmptyAnswer, Message: "the output limit cut the answer off before its first text or tool call"}
	}
	if t.form == nil {
		return endTurn(event.Termination{Type: event.NaturalEnd}), nil
	}
	answer := t.lastAnswer()
	value, problem := t.form.Check(ctx, answer.Text())
	if answer.HasToolCalls() {
		problem = "it calls tools, which is not possible any more"
	}
	switch {
	case problem == "":
		t.response = value
		return endTurn(event.Termination{Type: event.NaturalEnd}), nil
	case t.reason == model.FinishMaxTokens:
		return stepResult{}, &model.Error{Class: model.Truncated, Message: "the output limit cut the answer off, so it does not match the output schema"}
	case t.repairs >= maxRepairs && t.form.Spec.OnMismatch == spec.MismatchAccepted:
		return endTurn(event.Termination{Type: event.NaturalEnd}), nil
	case t.repairs >= maxRepairs:
		return stepResult{}, &model.Error{Class: model.InvalidOutput, Message: "the answer does not match the output schema: " + problem}
	}
	t.repairs++
	t.withoutTools = true
	t.notes = append(t.notes, model.User("Your answer cannot be used: "+problem+
		". Answer again with nothing but a JSON value that satisfies this JSON Schema: "+string(t.form.Spec.Schema)))
	return stepResult{}, nil
}
