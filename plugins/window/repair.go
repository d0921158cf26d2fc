package window

import "github.com/agentruntime/agentruntime/model"

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
	rest := results{in: group[1:]}
	for i := range group[0].Parts {
		call := group[0].Parts[i].ToolCall
		if call == nil {
			continue
		}
		if result := rest.next(); result == nil || result.ToolResult.CallID != call.ID {
			return false
		}
	}
	return rest.next() == nil
}

// results iterates over the tool results of messages.
type results struct {
	in   []model.Message
	part int
}

// next returns the next result, or nil.
func (r *results) next() *model.Part {
	for len(r.in) > 0 {
		parts := r.in[0].Parts
		for r.part < len(parts) {
			p := &parts[r.part]
			r.part++
			if p.ToolResult != nil {
				return p
			}
		}
		r.in, r.part = r.in[1:], 0
	}
	return nil
}

// repairGroup completes an incomplete group: it returns the answer and one message with a result
// per call, in order. Results without a call are dropped.
func repairGroup(group []model.Message) []model.Message {
	if group[0].Role == model.RoleTool {
		return nil
	}
	var found []*model.Part
	for r := (results{in: group[1:]}); ; {
		p := r.next()
		if p == nil {
			break
		}
		found = append(found, p)
	}
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
