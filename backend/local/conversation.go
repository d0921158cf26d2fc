package local

import "github.com/agentruntime/agentruntime/model"

// conversation holds the messages so far.
type conversation struct {
	// transcript is the system prompt, if any, the conversation, and the turn's messages, which
	// start at first. Requests are slices of it.
	transcript []model.Message
	prompt     int
	first      int
	// ids are the ids of the current step's messages.
	ids messageIDs
}

// room is the capacity of a turn's transcript beyond the conversation: enough for most turns, to
// avoid another copy.
const room = 5

// beginTranscript creates a transcript with an agent's prompt and space for a number of messages.
func (c *conversation) beginTranscript(prompt string, messages int) {
	c.transcript, c.prompt = make([]model.Message, 0, 1+messages), 0
	if prompt != "" {
		c.transcript = append(c.transcript, model.System(prompt))
		c.prompt = 1
	}
}

// replacePrompt puts another agent's prompt at the start of the conversation. The transcript is
// copied because states refer to the old one.
func (c *conversation) replacePrompt(prompt string) {
	rest, added := c.transcript[c.prompt:], len(c.transcript)-c.first
	c.beginTranscript(prompt, len(rest)+room)
	c.transcript = append(c.transcript, rest...)
	c.first = len(c.transcript) - added
}

// wasCalled reports whether an earlier step has a call with this id. Results and interactions are
// found by call id, so ids must be unique within a turn.
func (c *conversation) wasCalled(id string) bool {
	for i := c.first; i < len(c.transcript); i++ {
		for j := range c.transcript[i].Parts {
			if p := &c.transcript[i].Parts[j]; p.Type == model.PartToolCall && p.ToolCall.ID == id {
				return true
			}
		}
	}
	return false
}

// lastAnswer returns the latest answer of the turn, which must have one.
func (c *conversation) lastAnswer() *model.Message {
	i := len(c.transcript) - 1
	for c.transcript[i].Role != model.RoleAssistant {
		i--
	}
	return &c.transcript[i]
}
