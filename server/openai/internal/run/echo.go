package run

import "encoding/json"

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
