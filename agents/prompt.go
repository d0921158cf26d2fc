package agents

import (
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/model"
)

// Prompt changes a call of Generate. The zero value uses the declared agent and the whole
// conversation.
type Prompt struct {
	// Instructions replace the declared ones unless empty.
	Instructions string
	// History is the conversation before the turn's input that the model sees; nil means all of it.
	// The session always keeps all of it.
	History []model.Message
	// Input is added to the conversation before the model is called.
	Input []model.Message
}

// Result is the return value of an agent's code.
type Result struct {
	// Text is the answer. It becomes part of the conversation unless the model has
	// just said it; nil Message is a message with that text.
	Text    string
	Message *model.Message
	// FinishReason is why the answer ended; empty means stop.
	FinishReason wire.FinishReason
}
