package local

import (
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

const interruptedText = "[Tool execution was interrupted]"

// settleCall sets a call's result, made readable, and shows it.
func (t *turn) settleCall(c *call, result tools.Result, outcome event.CallOutcome) {
	artifact := t.keepWhole(c, &result)
	c.applyMove(moveSettle)
	c.outcome, c.result = outcome, result
	if c.edited && !result.IsError {
		c.result.Content = append([]model.Part{model.Text("[A person changed the arguments of this call to " + string(c.Arguments) + "]\n")}, result.Content...)
	}
	done := &event.ToolCallDone{
		ID: c.ID, Name: c.Name, MessageID: t.ids.resultsID(t.stats.Steps), Outcome: outcome,
		Result: eventResult(result.Content, result.IsError), Artifact: artifact,
	}
	if !c.begun.IsZero() {
		done.DurationMS = time.Since(c.begun).Milliseconds()
	}
	t.host.Emit(done)
}

// eventResult returns a result in the form for events.
func eventResult(parts []model.Part, isError bool) event.ToolResult {
	content := make([]event.Content, len(parts))
	for i := range parts {
		content[i] = event.Content{Type: string(parts[i].Type), Text: parts[i].Text}
		if b := parts[i].Blob; b != nil {
			content[i].MediaType, content[i].Data, content[i].URI, content[i].Name = b.MediaType, b.Data, b.URI, b.Name
		}
	}
	return event.ToolResult{Content: content, IsError: isError}
}

// keepResults adds the results of the step's calls to the conversation, in order. A call without
// a result is recorded as interrupted, because a conversation needs a result for every call.
func (t *turn) keepResults() {
	if len(t.calls) == 0 {
		return
	}
	results := make([]model.ToolResult, len(t.calls))
	parts := make([]model.Part, len(t.calls))
	for i := range t.calls {
		c := &t.calls[i]
		if !c.phase.hasResult() {
			t.settleCall(c, tools.ErrorResult(interruptedText), event.CallFailed)
		}
		results[i] = c.resultMessage()
		parts[i] = model.Part{Type: model.PartToolResult, ToolResult: &results[i]}
	}
	t.countFailures()
	t.transcript = append(t.transcript, model.Message{ID: t.ids.resultsID(t.stats.Steps), Role: model.RoleTool, Parts: parts})
	t.calls = nil
	t.keepSaid()
}

// keepSaid adds the user's messages that came with answers to the conversation.
func (t *turn) keepSaid() {
	for i := range t.said {
		t.said[i].ID = t.ids.messageID("u") + "." + strconv.Itoa(i+1)
	}
	t.transcript = append(t.transcript, t.said...)
	t.said = nil
}

// countFailures counts the consecutive steps in which every call failed. A guard's answer is
// neither a success nor a failure.
func (t *turn) countFailures() {
	failed := false
	for i := range t.calls {
		switch c := &t.calls[i]; {
		case c.skipped:
		case c.outcome == event.CallSucceeded:
			t.stats.FailedSteps = 0
			return
		default:
			failed = true
		}
	}
	if failed {
		t.stats.FailedSteps++
	}
}
