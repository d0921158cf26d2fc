package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// resumeStep continues the calls of a suspended step: those with answers and those not reached yet.
func (t *turn) resumeStep(ctx context.Context) (r stepResult, err error) {
	defer panics.Recover(&err)
	r, err = t.resumeCalls(ctx)
	c := &t.engine.Context
	c.Answer, c.Call, c.Result, c.InteractionAnswer, c.Interaction = nil, nil, nil, nil, nil
	if err != nil || r.course != suspends {
		t.keepResults()
	}
	t.showState()
	return r, err
}

// resumeCalls continues the calls of a state.
func (t *turn) resumeCalls(ctx context.Context) (stepResult, error) {
	t.engine.Context.Answer = t.lastAnswer()
	t.prepareCalls()
	return t.workCalls(ctx)
}

// applyAnswers applies the answers to a waiting call, and reports whether that settles it.
// Otherwise the gates decide it like a new call, with the answer.
func (t *turn) applyAnswers(c *call) (settled bool) {
	if len(c.answers) == 0 {
		return false
	}
	for i := range c.answers {
		r := &c.answers[i]
		t.host.Emit(event.Resumed(r))
	}
	c.applyMove(moveAnswer)
	first := &c.answers[0]
	request := c.interactionByID(first.Target)
	open := request != nil && request.Action == backend.ActionIndeterminate && request.Question == ""
	if request != nil && request.Question == "" && len(first.Arguments) > 0 && !open {
		c.editArguments(first.Arguments) // a tool handles the answers to its own questions
	}
	switch {
	case request == nil: // a state not from the loop
		t.settleCall(c, tools.ErrorResult(fmt.Sprintf("the answer %q belongs to nothing", first.Target)), event.CallFailed)
		return true
	case request.Mode == interaction.PassDecisionToTool:
		c.passAnswers(request)
		return false
	case open && first.Action == interaction.Cancel:
		t.settleCall(c, tools.ErrorResult(indeterminateText(c.Name)), event.CallIndeterminate)
		return true
	case first.Action == interaction.Cancel:
		t.settleCall(c, tools.ErrorResult(refusalText(first.Reason)).Readable(), event.CallFailed)
		return true
	case request.Mode == interaction.UseDecisionAsToolResult:
		t.settleCall(c, resultFromAnswer(first.Result), event.CallSucceeded)
		return true
	default:
		return false
	}
}

func refusalText(reason string) string {
	if reason == "" {
		return "the call was refused"
	}
	return "the call was refused: " + reason
}

// resultFromAnswer returns an answer as a call's result, a JSON string as its text.
func resultFromAnswer(result json.RawMessage) tools.Result {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return tools.Result{Content: []model.Part{model.Text(text)}, Data: result}.Readable()
	}
	return tools.Result{Data: result}.Readable()
}
