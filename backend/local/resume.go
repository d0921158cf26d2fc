package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// suspendCall makes a call wait for its interactions, and shows them. A call that could
// not be answered, or not be kept, has failed instead.
func (t *turn) suspendCall(c *call, interactions []*backend.Interaction) {
	if problem := whyUnanswerable(interactions, c.resume); problem != "" {
		c.resume = nil
		t.settleCall(c, tools.ErrorResult("the call cannot wait: "+problem), event.CallFailed)
		return
	}
	c.applyMove(moveSuspend)
	c.interactions, c.answers = nil, nil
	for _, request := range interactions {
		request.ID = t.freeID(c, request)
		c.interactions = append(c.interactions, request)
		request.CallID = c.ID
		request.Tool = clip.Clean(cmp.Or(request.Tool, c.Name))
		request.Action, request.Message = clip.Clean(request.Action), clip.Clean(request.Message)
		if len(request.Arguments) == 0 {
			request.Arguments = rawjson.Encode(c.Arguments)
		}
		request.Mode = cmp.Or(request.Mode, interaction.ReplayToolCall)
		t.host.Emit(&event.InteractionRequest{Request: request.Request})
	}
}

// whyUnanswerable returns why a call cannot wait for interactions, and keep what its
// tool needs to go on, or "".
func whyUnanswerable(interactions []*backend.Interaction, resume json.RawMessage) string {
	malformed := func(raw json.RawMessage) bool { return len(raw) > 0 && !json.Valid(raw) }
	if len(interactions) == 0 {
		return "it asks nothing"
	}
	if malformed(resume) {
		return "the state it would go on from is no JSON"
	}
	for _, request := range interactions {
		if !clip.IsClean(request.ID) { // an answer could not name it
			return "the id of its question holds a NUL or is not UTF-8"
		}
		if malformed(request.Parameters) || malformed(request.Arguments) {
			return "the parameters or arguments of its question are no JSON"
		}
		if len(request.ResponseSchema) == 0 {
			continue
		}
		if _, err := schema.Compile(request.ResponseSchema); err != nil {
			return fmt.Sprintf("the form of its answer is no valid JSON Schema: %v", err)
		}
	}
	return ""
}

// freeID returns the id of an interaction: the one it has, or that of its call,
// unless the turn had such an interaction already. A late answer to the earlier one
// must not be taken for an answer to this one.
func (t *turn) freeID(c *call, request *backend.Interaction) string {
	id := cmp.Or(request.ID, c.ID)
	for n := 2; t.knowsInteraction(id); n++ {
		id = cmp.Or(request.ID, c.ID) + "#" + strconv.Itoa(n)
	}
	return id
}

func (t *turn) knowsInteraction(id string) bool {
	if _, answered := t.resolved[id]; answered {
		return true
	}
	for i := range t.calls {
		if slices.ContainsFunc(t.calls[i].interactions, func(other *backend.Interaction) bool { return other.ID == id }) {
			return true
		}
	}
	return false
}

// interactionByID returns the call's interaction with an id, or nil.
func (c *call) interactionByID(id string) *backend.Interaction {
	for _, request := range c.interactions {
		if request.ID == id {
			return request
		}
	}
	return nil
}

// resumeStep continues the calls of a suspended step: those that have their
// answers, and those that were not reached yet.
func (t *turn) resumeStep(ctx context.Context) (r stepResult, err error) {
	defer panics.Recover(&err)
	r, err = t.goOn(ctx)
	c := &t.engine.Context
	c.Answer, c.Call, c.Result, c.InteractionAnswer, c.Interaction = nil, nil, nil, nil, nil
	if err != nil || r.course != suspends {
		t.keepResults()
	}
	t.showState()
	return r, err
}

// goOn works on the calls of a state.
func (t *turn) goOn(ctx context.Context) (stepResult, error) {
	t.engine.Context.Answer = t.lastAnswer()
	t.takeUpCalls()
	return t.workCalls(ctx)
}

// takeUp applies the answers to a call that waited, and reports whether that
// settles it. What does not is judged like a fresh call, with the answer at
// hand.
func (t *turn) takeUp(c *call) (settled bool) {
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
		c.editArguments(first.Arguments) // what a tool asks about itself is for the tool to change
	}
	switch {
	case request == nil: // a state that no loop wrote
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

// passAnswers hands the answers to the tool, if the interaction is one of its own.
func (c *call) passAnswers(request *backend.Interaction) {
	if request != nil && request.Mode == interaction.PassDecisionToTool {
		c.resumed = &tools.Resumed{Answers: c.toolAnswers(), State: c.resume}
	}
}

// editArguments gives the call other arguments than the model asked for, which the
// conversation keeps.
func (c *call) editArguments(arguments json.RawMessage) {
	edited := *c.ToolCall
	edited.Arguments = arguments
	c.ToolCall, c.edited = &edited, true
}

func refusalText(reason string) string {
	if reason == "" {
		return "the call was refused"
	}
	return "the call was refused: " + reason
}

// resultFromAnswer returns an answer as the result of a call: a JSON string as the text
// that it is.
func resultFromAnswer(result json.RawMessage) tools.Result {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return tools.Result{Content: []model.Part{model.Text(text)}, Data: result}.Readable()
	}
	return tools.Result{Data: result}.Readable()
}

// toolAnswers returns the answers for a tool that waited.
func (c *call) toolAnswers() []interaction.Answer {
	list := make([]interaction.Answer, 0, len(c.answers))
	for _, r := range c.answers {
		if request := c.interactionByID(r.Target); request != nil {
			r.Target = request.Question
		}
		list = append(list, r)
	}
	return list
}

// interactionsOf returns the interactions of a call whose tool waits.
func interactionsOf(wait *tools.Wait) []*backend.Interaction {
	mode := interaction.PassDecisionToTool
	if wait.AnswerIsResult {
		mode = interaction.UseDecisionAsToolResult
	}
	interactions := make([]*backend.Interaction, len(wait.Questions))
	for i, q := range wait.Questions {
		q.Mode = mode
		interactions[i] = &backend.Interaction{Request: q, Question: q.ID}
	}
	return interactions
}
