package window

import (
	"fmt"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
)

// longestTokens is how many bytes a token has at most, on average over a text in which no byte repeats.
const longestTokens = 8

// overflowError reports instructions and a task that are too long even without anything else.
type overflowError struct {
	instructions, task, limit int
}

// Error names the sizes and the settings.
func (e *overflowError) Error() string {
	return fmt.Sprintf("the request cannot fit the context window of %d tokens: the instructions have about %d tokens and the task has about %d, and neither is ever shortened; "+
		"shorten the input, or raise context_policy.max_context_tokens and the context_window of the model if they are too low", e.limit, e.instructions, e.task)
}

// Termination returns how the turn ends.
func (e *overflowError) Termination() event.Termination {
	return event.Termination{Type: event.Failed, Code: string(model.ContextOverflow), Detail: e.Error()}
}

// checkPinned returns an error if what is always sent is certainly too long. Vendors report it in many
// ways, and some local servers cut the request silently.
func (t *turn) checkPinned(systemPrompt string) error {
	var instructions, task pinnedSize
	instructions.addText(systemPrompt)
	for i := range t.leading {
		instructions.addParts(t.conversation[i].Parts)
	}
	for i := max(t.task.start, t.leading); i < t.task.end; i++ {
		task.addParts(t.conversation[i].Parts)
	}
	limit := t.policy.ContextTokens
	if limit <= 0 || instructions.least+task.least <= longestTokens*limit {
		return nil
	}
	return &overflowError{toTokens(instructions.weight), toTokens(task.weight), limit}
}

// pinnedSize is the size of texts that are always sent. Images and files are left out: their price is a
// guess.
type pinnedSize struct {
	weight int
	// least is the bytes of the texts without repeated ones, of which a token may have many.
	least int
}

func (s *pinnedSize) addText(text string) {
	s.weight += textWeight(text)
	for i := range len(text) {
		if i == 0 || text[i] != text[i-1] {
			s.least++
		}
	}
}

func (s *pinnedSize) addParts(parts []model.Part) {
	for i := range parts {
		s.addText(parts[i].Text)
		if r := parts[i].ToolResult; r != nil {
			s.addText(model.PartsText(r.Content))
		}
	}
}
