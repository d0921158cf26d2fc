package window

import (
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// interrupted is the result for a call without one.
const interrupted = "[Tool execution was interrupted]"

// groupEnd returns the end of the group that begins at i: an answer with tool calls and the result
// messages right after it, or a single message. A group is sent as a whole or not at all.
func groupEnd(messages []model.Message, i int) int {
	end := i + 1
	if !callsTools(&messages[i]) {
		return end
	}
	for end < len(messages) && messages[end].Role == model.RoleTool {
		end++
	}
	return end
}

// callsTools reports whether a message is an answer that calls tools.
func callsTools(m *model.Message) bool { return m.Role == model.RoleAssistant && m.HasToolCalls() }

// isComplete reports whether each call of a group has its result, in order, and each result its
// call. Vendors reject conversations with a missing one.
func isComplete(group []model.Message) bool {
	if group[0].Role == model.RoleTool {
		return false // an answer would precede it
	}
	if !callsTools(&group[0]) {
		return true
	}
	calls, at := group[0].Parts, 0
	for result := range resultsIn(group[1:]) {
		at = nextCall(calls, at)
		if at == len(calls) || calls[at].ToolCall.ID != result.ToolResult.CallID {
			return false
		}
		at++
	}
	return nextCall(calls, at) == len(calls)
}

// nextCall returns the position of the first call from a position on, or the number of parts.
func nextCall(parts []model.Part, at int) int {
	for at < len(parts) && parts[at].ToolCall == nil {
		at++
	}
	return at
}

// resultsIn returns the tool results of messages.
func resultsIn(messages []model.Message) iter.Seq[*model.Part] {
	return func(yield func(*model.Part) bool) {
		for i := range messages {
			for j := range messages[i].Parts {
				if p := &messages[i].Parts[j]; p.ToolResult != nil && !yield(p) {
					return
				}
			}
		}
	}
}

// repairGroup completes an incomplete group: it returns the answer and one message with a result
// per call, in order. Results without a call are dropped.
func repairGroup(group []model.Message) []model.Message {
	if group[0].Role == model.RoleTool {
		return nil
	}
	found := slices.Collect(resultsIn(group[1:]))
	answers := model.Message{Role: model.RoleTool}
	if len(group) > 1 {
		answers.ID = group[1].ID
	}
	for i := range group[0].Parts {
		if call := group[0].Parts[i].ToolCall; call != nil {
			answers.Parts = append(answers.Parts, resultOf(call, found))
		}
	}
	if len(answers.Parts) == 0 {
		return []model.Message{group[0]}
	}
	return []model.Message{group[0], answers}
}

// resultOf removes the first result of a call from found and returns it, or returns a note that the
// result is missing.
func resultOf(call *model.ToolCall, found []*model.Part) model.Part {
	for i, p := range found {
		if p != nil && p.ToolResult.CallID == call.ID {
			found[i] = nil
			return *p
		}
	}
	return model.Part{Type: model.PartToolResult, ToolResult: &model.ToolResult{
		CallID: call.ID, Name: call.Name, IsError: true, Content: []model.Part{model.Text(interrupted)},
	}}
}
