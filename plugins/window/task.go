package window

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// span is a range of messages; the zero value is empty.
type span struct{ start, end int }

// plus returns the span moved by n messages.
func (s span) plus(n int) span { return span{s.start + n, s.end + n} }

// has reports whether the message i is in the span.
func (s span) has(i int) bool { return s.start <= i && i < s.end }

// findTask returns the user's last message at the start of the turn, with the user and system
// messages of the input right before it. Leading system messages are excluded.
func findTask(p *plugins.PhaseContext, leading int) span {
	end := min(p.HistoryLength+p.InputLength, len(p.Messages))
	for end > 0 && p.Messages[end-1].Role != model.RoleUser {
		end--
	}
	if end == 0 {
		return span{}
	}
	start := end - 1
	for start > max(p.HistoryLength, leading) && !isOfModel(&p.Messages[start-1]) {
		start--
	}
	return span{start, end}
}

// isOfModel reports whether a message is an answer of the model or the result of its call.
func isOfModel(m *model.Message) bool {
	return m.Role == model.RoleAssistant || m.Role == model.RoleTool
}

// findTaskIn returns the position of the task in a request, even if another plugin changed the
// messages around it: the same messages, or else the messages in their place.
func (t *turn) findTaskIn(request []model.Message, leading int) span {
	length := t.task.end - t.task.start
	if length == 0 {
		return span{}
	}
	first := identityOf(&t.conversation[t.task.start])
	for i := range request {
		if first.first != nil && identityOf(&request[i]) == first {
			return span{i, min(i+length, len(request))}
		}
	}
	start := leading + t.task.start - t.leading
	if start+length > len(request) || request[start+length-1].Role != model.RoleUser {
		return span{}
	}
	return span{start, start + length}
}
