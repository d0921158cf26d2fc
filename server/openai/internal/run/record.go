package run

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// Record is the data that a turn stores for the surface. A turn without it belongs to another
// protocol.
type Record struct {
	// Unstored is set if the client does not want the response stored.
	Unstored bool `json:"unstored,omitempty"`
	// Thoughts is set if the client sees the model's reasoning. Form is set if the answer has a
	// required form, so that nothing else may be output.
	Thoughts bool `json:"thoughts,omitempty"`
	Form     bool `json:"form,omitempty"`
	// Asked identifies the messages of the request that began the turn.
	Asked string `json:"asked,omitempty"`
	// Echo has the request fields that responses repeat.
	Echo *Echo `json:"echo,omitempty"`
	// TookFrom and TookTo delimit the conversation items that this turn was the first to read, as
	// Took messages.
	TookFrom int `json:"took_from,omitempty"`
	TookTo   int `json:"took_to,omitempty"`
	Took     int `json:"took,omitempty"`
	// Key is the idempotency key of a response in a conversation, and Body the hash of its request.
	Key  string `json:"key,omitempty"`
	Body string `json:"body,omitempty"`
	// User and Metadata are stored for readers of the turn.
	User     string            `json:"user,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Echo has the fields of a request that its response repeats.
type Echo struct {
	Background         bool              `json:"background"`
	Store              bool              `json:"store"`
	Instructions       *string           `json:"instructions"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       *ConversationRef  `json:"conversation"`
	Reasoning          ReasoningOptions  `json:"reasoning"`
	ServiceTier        string            `json:"service_tier"`
	Temperature        *float64          `json:"temperature"`
	TopP               *float64          `json:"top_p"`
	Text               TextOptions       `json:"text"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Tools              []Tool            `json:"tools"`
	Truncation         string            `json:"truncation"`
	User               *string           `json:"user"`
	Metadata           map[string]string `json:"metadata"`
}

// ConversationRef names the conversation of a response.
type ConversationRef struct {
	ID string `json:"id"`
}

// ReasoningOptions are the reasoning options.
type ReasoningOptions struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// TextOptions are the options of the answer.
type TextOptions struct {
	Format    Format  `json:"format"`
	Verbosity *string `json:"verbosity,omitempty"`
}

// Format is the form of the answer.
type Format struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict *bool           `json:"strict,omitempty"`
}

// Tool is a tool of a request, with its function.
type Tool struct {
	Type string `json:"type"`
	Function
}

// Function is a function that the client runs.
type Function = surfacekit.Function
