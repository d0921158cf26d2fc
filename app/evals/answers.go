package evals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// unansweredError reports an approval or question for which a case has no answer.
type unansweredError struct {
	Tool, Message string
}

// Error names the tool.
func (e *unansweredError) Error() string {
	return fmt.Sprintf("tool %s asks, and answers has no entry for it: %s", e.Tool, e.Message)
}

// answerRequest returns the case's answer to an approval or question.
func (k *compiled) answerRequest(ctx context.Context, rules []AnswerRule, q *interaction.Request) (interaction.Answer, error) {
	for i := range rules {
		a := &rules[i]
		if !k.globs[diag.Join(diag.Index("answers", i), "tool")].Match(q.Tool) {
			continue
		}
		answer, err := a.answerTo(ctx, q)
		if err != nil {
			return answer, fmt.Errorf("answers[%d] does not answer tool %s: %w", i, q.Tool, err)
		}
		return answer, nil
	}
	return interaction.Answer{}, &unansweredError{Tool: q.Tool, Message: q.Message}
}

func (a *AnswerRule) answerTo(ctx context.Context, q *interaction.Request) (interaction.Answer, error) {
	answer := interaction.Answer{Target: q.ID, Action: interaction.Resume, Arguments: a.Arguments, Result: a.Value}
	switch {
	case a.Text != "":
		result, err := interaction.ReadAnswer(ctx, q, a.Text)
		answer.Result = result
		return answer, err
	case len(a.Value) > 0:
		return answer, interaction.Check(ctx, q, &answer)
	}
	var err error
	for _, form := range approvalForms(*a.Approve) {
		answer.Result = form
		if err = interaction.Check(ctx, q, &answer); err == nil {
			return answer, nil
		}
	}
	if !*a.Approve {
		return interaction.Answer{Target: q.ID, Action: interaction.Cancel, Reason: "the case refuses it"}, nil
	}
	return answer, err
}

// approvalForms are the forms in which an approval is granted or rejected.
func approvalForms(approved bool) []json.RawMessage {
	if approved {
		return []json.RawMessage{json.RawMessage(`{"approved":true,"scope":"once"}`), json.RawMessage(`{"approved":true}`), json.RawMessage(`true`)}
	}
	return []json.RawMessage{json.RawMessage(`{"approved":false}`), json.RawMessage(`false`)}
}
