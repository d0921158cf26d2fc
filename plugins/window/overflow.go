package window

import (
	"fmt"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
)

// longestTokens is the maximum number of bytes per token, on average over a text in which no byte
// repeats.
const longestTokens = 8

// overflowError reports instructions and a task that are too long by themselves.
type overflowError struct {
	instructions, task, limit int
}

// Error reports the sizes and the settings.
func (e *overflowError) Error() string {
	return fmt.Sprintf("the request cannot fit the context window of %d tokens: the instructions have about %d tokens and the task has about %d, and neither is ever shortened; "+
		"shorten the input, or raise context_policy.max_context_tokens and the context_window of the model if they are too low", e.limit, e.instructions, e.task)
}

// Termination returns how the turn ends.
func (e *overflowError) Termination() event.Termination {
	return event.Termination{Type: event.Failed, Code: string(model.ContextOverflow), Detail: e.Error()}
}

// checkPinned returns an error if the pinned content is certainly too long. Vendors report it in
// many ways, and some local servers truncate the request silently. Images and files do not count:
// their price is a guess.
func (t *turn) checkPinned(systemPrompt string) error {
	limit, size := t.policy.ContextTokens, 0
	t.visitPinned(systemPrompt, func(text string, _ bool) { size += len(text) })
	if limit <= 0 || size <= longestTokens*limit {
		return nil
	}
	var instructions, task, least int
	t.visitPinned(systemPrompt, func(text string, isTask bool) {
		least += countUnrepeated(text)
		if isTask {
			task += textWeight(text)
		} else {
			instructions += textWeight(text)
		}
	})
	if least <= longestTokens*limit {
		return nil
	}
	return &overflowError{toTokens(instructions), toTokens(task), limit}
}

// visitPinned calls visit with the pinned texts: the instructions and the task.
func (t *turn) visitPinned(systemPrompt string, visit func(text string, isTask bool)) {
	visit(systemPrompt, false)
	for i := range max(t.leading, t.task.end) {
		isTask := i >= t.leading
		if isTask && i < t.task.start {
			continue
		}
		for _, part := range t.conversation[i].Parts {
			visit(part.Text, isTask)
			if r := part.ToolResult; r != nil {
				visit(model.PartsText(r.Content), isTask)
			}
		}
	}
}

// countUnrepeated counts the bytes that differ from the previous one. A token may have many equal
// bytes.
func countUnrepeated(text string) (n int) {
	for i := range len(text) {
		if i == 0 || text[i] != text[i-1] {
			n++
		}
	}
	return n
}
