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

// suspendCall makes a call wait for its tickets, and shows them. A call that could
// not be answered, or not be kept, has failed instead.
func (t *turn) suspendCall(c *call, tickets []*backend.Ticket) {
	if problem := whyUnanswerable(tickets, c.resume); problem != "" {
		c.resume = nil
		t.settleCall(c, tools.ErrorResult("the call cannot wait: "+problem), event.CallFailed)
		return
	}
	c.applyMove(moveSuspend)
	c.tickets, c.resolutions = nil, nil
	for _, ticket := range tickets {
		ticket.ID = t.freeTicket(c, ticket)
		c.tickets = append(c.tickets, ticket)
		ticket.CallID = c.ID
		ticket.Tool = clip.Clean(cmp.Or(ticket.Tool, c.Name))
		ticket.Action, ticket.Message = clip.Clean(ticket.Action), clip.Clean(ticket.Message)
		if len(ticket.Arguments) == 0 {
			ticket.Arguments = rawjson.Encode(c.Arguments)
		}
		ticket.Mode = cmp.Or(ticket.Mode, interaction.ReplayToolCall)
		t.host.Emit(&event.InteractionRequest{Request: ticket.Request})
	}
}

// whyUnanswerable returns why a call cannot wait for tickets, and keep what its
// tool needs to go on, or "".
func whyUnanswerable(tickets []*backend.Ticket, resume json.RawMessage) string {
	malformed := func(raw json.RawMessage) bool { return len(raw) > 0 && !json.Valid(raw) }
	if len(tickets) == 0 {
		return "it asks nothing"
	}
	if malformed(resume) {
		return "the state it would go on from is no JSON"
	}
	for _, ticket := range tickets {
		if !clip.IsClean(ticket.ID) { // an answer could not name it
			return "the id of its question holds a NUL or is not UTF-8"
		}
		if malformed(ticket.Parameters) || malformed(ticket.Arguments) {
			return "the parameters or arguments of its question are no JSON"
		}
		if len(ticket.ResponseSchema) == 0 {
			continue
		}
		if _, err := schema.Compile(ticket.ResponseSchema); err != nil {
			return fmt.Sprintf("the form of its answer is no valid JSON Schema: %v", err)
		}
	}
	return ""
}

// freeTicket returns the id of a ticket: the one it has, or that of its call,
// unless the turn had such a ticket already. A late answer to the earlier one
// must not be taken for an answer to this one.
func (t *turn) freeTicket(c *call, ticket *backend.Ticket) string {
	id := cmp.Or(ticket.ID, c.ID)
	for n := 2; t.knowsTicket(id); n++ {
		id = cmp.Or(ticket.ID, c.ID) + "#" + strconv.Itoa(n)
	}
	return id
}

func (t *turn) knowsTicket(id string) bool {
	if _, answered := t.resolved[id]; answered {
		return true
	}
	for i := range t.calls {
		if slices.ContainsFunc(t.calls[i].tickets, func(other *backend.Ticket) bool { return other.ID == id }) {
			return true
		}
	}
	return false
}

// ticketByID returns the call's ticket with an id, or nil.
func (c *call) ticketByID(id string) *backend.Ticket {
	for _, ticket := range c.tickets {
		if ticket.ID == id {
			return ticket
		}
	}
	return nil
}

// resumeStep goes on with the calls of a suspended step: those that have their
// answers, and those that did not get their turn.
func (t *turn) resumeStep(ctx context.Context) (r stepResult, err error) {
	defer panics.Recover(&err)
	r, err = t.goOn(ctx)
	c := &t.engine.Context
	c.Answer, c.Call, c.Result, c.Resolution, c.Ticket = nil, nil, nil, nil, nil
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
	if len(c.resolutions) == 0 {
		return false
	}
	for i := range c.resolutions {
		r := &c.resolutions[i]
		t.host.Emit(event.Resumed(r))
	}
	c.applyMove(moveAnswer)
	first := &c.resolutions[0]
	ticket := c.ticketByID(first.Target)
	open := ticket != nil && ticket.Action == backend.ActionIndeterminate && ticket.Question == ""
	if ticket != nil && ticket.Question == "" && len(first.Arguments) > 0 && !open {
		c.editArguments(first.Arguments) // what a tool asks about itself is for the tool to change
	}
	switch {
	case ticket == nil: // a state that no loop wrote
		t.settleCall(c, tools.ErrorResult(fmt.Sprintf("the answer %q belongs to nothing", first.Target)), event.CallFailed)
		return true
	case ticket.Mode == interaction.PassDecisionToTool:
		c.passAnswers(ticket)
		return false
	case open && first.Action == interaction.Cancel:
		t.settleCall(c, tools.ErrorResult(indeterminateText(c.Name)), event.CallIndeterminate)
		return true
	case first.Action == interaction.Cancel:
		t.settleCall(c, tools.ErrorResult(refusalText(first.Reason)).Readable(), event.CallFailed)
		return true
	case ticket.Mode == interaction.UseDecisionAsToolResult:
		t.settleCall(c, resultFromAnswer(first.Result), event.CallSucceeded)
		return true
	default:
		return false
	}
}

// passAnswers hands the answers to the tool, if the ticket is one of its own.
func (c *call) passAnswers(ticket *backend.Ticket) {
	if ticket != nil && ticket.Mode == interaction.PassDecisionToTool {
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

// toolAnswers returns what a tool that waited is told.
func (c *call) toolAnswers() []interaction.Answer {
	list := make([]interaction.Answer, 0, len(c.resolutions))
	for _, r := range c.resolutions {
		if ticket := c.ticketByID(r.Target); ticket != nil {
			r.Target = ticket.Question
		}
		list = append(list, r)
	}
	return list
}

// ticketsOf returns the tickets of a call whose tool waits.
func ticketsOf(wait *tools.Wait) []*backend.Ticket {
	mode := interaction.PassDecisionToTool
	if wait.AnswerIsResult {
		mode = interaction.UseDecisionAsToolResult
	}
	tickets := make([]*backend.Ticket, len(wait.Questions))
	for i, q := range wait.Questions {
		q.Mode = mode
		tickets[i] = &backend.Ticket{Request: q, Question: q.ID}
	}
	return tickets
}
