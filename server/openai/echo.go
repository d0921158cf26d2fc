package openai

import "encoding/json"

// echo has the fields of a request that its response repeats.
type echo struct {
	Background         bool              `json:"background"`
	Store              bool              `json:"store"`
	Instructions       *string           `json:"instructions"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       *conversationRef  `json:"conversation"`
	Reasoning          reasoningOptions  `json:"reasoning"`
	ServiceTier        string            `json:"service_tier"`
	Temperature        *float64          `json:"temperature"`
	TopP               *float64          `json:"top_p"`
	Text               textOptions       `json:"text"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Tools              []responseTool    `json:"tools"`
	Truncation         string            `json:"truncation"`
	User               *string           `json:"user"`
	Metadata           map[string]string `json:"metadata"`
}

type conversationRef struct {
	ID string `json:"id"`
}

type reasoningOptions struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type textOptions struct {
	Format    responseFormat `json:"format"`
	Verbosity *string        `json:"verbosity,omitempty"`
}

type responseFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict *bool           `json:"strict,omitempty"`
}

type responseTool struct {
	Type string `json:"type"`
	function
}
