package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/agentruntime/agentruntime/spec"
)

// Executor asks a model of one vendor.
//
// Stream is called from many goroutines at once, once per attempt. It must not
// modify or keep the request or anything it refers to. The stream ends with
// exactly one EventFinish, or with an error, which is an *Error; after either
// nothing follows. Breaking off the iteration cancels the request. The stream
// ends when ctx does, with an *Error of class Cancelled or Timeout; a turn waits
// for it.
type Executor interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Settings is what the runtime gives a provider when it makes one.
type Settings struct {
	// ID is the provider's id.
	ID string

	_ struct{} // keyed literals only
}

// ProviderKind is one value of a provider's type field.
type ProviderKind = spec.Kind[Settings, Executor]

// Request is what a model is asked. It is read-only for the executor.
type Request struct {
	// Model is the vendor's own name of the model.
	Model string
	// Messages is the conversation; instructions come first, as messages of
	// RoleSystem.
	Messages []Message
	// Tools are the tools the model may call, sorted by name. The slice is the
	// same for all requests of a revision that offer the same tools, so an
	// executor may keep what it derives from it.
	Tools []Tool
	// SessionID groups requests whose start is the same, for vendors that
	// route to a cache by it. It may be empty.
	SessionID string
	Params
}

// Params are the settings of one request. Zero values leave a setting to the
// vendor.
type Params struct {
	Temperature     *float64     `json:"temperature,omitempty"`
	TopP            *float64     `json:"top_p,omitempty"`
	MaxOutputTokens int          `json:"max_output_tokens,omitempty"`
	ReasoningEffort *spec.Effort `json:"reasoning_effort,omitempty"`
}

// Merge returns p with the fields that over sets.
func (p Params) Merge(over Params) Params {
	if over.Temperature != nil {
		p.Temperature = over.Temperature
	}
	if over.TopP != nil {
		p.TopP = over.TopP
	}
	if over.MaxOutputTokens != 0 {
		p.MaxOutputTokens = over.MaxOutputTokens
	}
	if over.ReasoningEffort != nil {
		p.ReasoningEffort = over.ReasoningEffort
	}
	return p
}

// Tool is a tool as a model sees it.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments.
	Parameters json.RawMessage `json:"parameters"`
}

// FinishReason says why an answer ended.
type FinishReason string

// The reasons for which an answer ends.
const (
	// FinishStop is an answer that the model ended.
	FinishStop FinishReason = "stop"
	// FinishToolCalls is an answer that waits for tool results.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishMaxTokens is an answer cut off by the output limit.
	FinishMaxTokens FinishReason = "max_tokens"
	// FinishContentFilter is an answer that the vendor withheld.
	FinishContentFilter FinishReason = "content_filter"
)

// Usage counts the tokens of one or several requests.
type Usage struct {
	// Input counts all tokens of the request, those read from or written to a
	// cache included.
	Input int `json:"input_tokens"`
	// Output counts all tokens of the answer, reasoning included.
	Output int `json:"output_tokens"`
	// CacheRead counts the input tokens that came from the vendor's cache.
	CacheRead int `json:"cached_tokens,omitempty"`
	// CacheWrite counts the input tokens written to the vendor's cache.
	CacheWrite int `json:"cache_write_tokens,omitempty"`
	// Reasoning counts the output tokens spent on thinking.
	Reasoning int `json:"reasoning_tokens,omitempty"`
}

// Total returns all tokens, in and out.
func (u Usage) Total() int { return u.Input + u.Output }

// Add adds other to u.
func (u *Usage) Add(other Usage) {
	u.Input += other.Input
	u.Output += other.Output
	u.CacheRead += other.CacheRead
	u.CacheWrite += other.CacheWrite
	u.Reasoning += other.Reasoning
}
