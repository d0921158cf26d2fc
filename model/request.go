package model

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"log/slog"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/spec"
)

// Executor calls a model of one vendor.
//
// Stream is called concurrently, once per attempt. It must not modify or keep the request or
// anything it refers to. The stream ends with exactly one EventFinish, or with an error, which is
// an *Error; nothing comes after either of them. Breaking off the iteration cancels the request.
// The stream ends when ctx does, with an *Error of class Canceled or Timeout; a turn waits for it.
type Executor interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Vendor is implemented by executors that know the vendor of their models. It returns the name for
// observers: openai, anthropic, google.
type Vendor interface {
	Vendor() string
}

// NoModel is implemented by executors that answer without a model, such as for a turn that makes
// one call. They are not measured as model calls.
type NoModel interface {
	AsksNoModel()
}

// FieldLearner is implemented by executors that leave out optional fields of requests
// once a server has rejected them.
type FieldLearner interface {
	// RejectedFields returns the names of these fields.
	RejectedFields() []string
}

// Settings are the runtime's settings for creating a provider.
type Settings struct {
	// ID is the provider's id.
	ID string
	// Logger is the runtime's logger; nil for no log.
	Logger *slog.Logger

	_ struct{} // keyed literals only
}

// ProviderKind is one value of a provider's type field.
type ProviderKind = spec.Kind[Settings, Executor]

// Request is a request to a model. It is read-only for the executor.
type Request struct {
	// Model is the vendor's own name of the model.
	Model string
	// Messages is the conversation; instructions come first, as messages of
	// RoleSystem.
	Messages []Message
	// Tools are the tools that the model may call, sorted by name. All requests of a revision
	// with the same tools share the slice, so an executor may cache data derived from it.
	Tools []Tool
	// SessionID groups requests with a common prefix, for vendors that route to a cache by it. It
	// may be empty.
	SessionID string
	// TurnID is the turn that makes the request. It may be empty.
	TurnID string
	// ToolChoice controls whether the model may call tools; the zero value leaves it to the model.
	ToolChoice ToolChoice
	// Output is the required format of the answer's text; nil for any. An executor uses the
	// vendor's feature, or an internal tool whose arguments it streams as the answer's text without
	// showing the tool in events. With other callable tools it leaves the choice to the model,
	// otherwise it enforces the format. An executor that supports neither ignores it.
	Output *spec.OutputSchema
	// Cache asks the vendor to cache the unchanging start of the request, for vendors that require
	// a request for it.
	Cache bool
	// Edits changes the body of the request after the provider's edits; nil for none.
	Edits *spec.RequestEdits
	// KeepTags leaves tagged reasoning at the beginning of the answer in its text.
	KeepTags bool
	Params
}

// ToolMode controls whether a model may call tools.
type ToolMode string

// The tool modes.
const (
	// ToolsAuto lets the model decide.
	ToolsAuto ToolMode = ""
	// ToolsNone stops the model from calling tools but still sends them, so that calls in the
	// conversation stay meaningful.
	ToolsNone ToolMode = "none"
	// ToolsRequired makes the model call at least one tool.
	ToolsRequired ToolMode = "required"
	// ToolsNamed makes the model call the tool ToolChoice.Name.
	ToolsNamed ToolMode = "named"
)

// ToolChoice controls whether a model may, must or must not call tools.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	// Name is the tool to call, for ToolsNamed.
	Name string `json:"name,omitempty"`
}

// Params are the settings of one request. Zero values leave a setting to the
// vendor.
type Params struct {
	Temperature     *float64     `json:"temperature,omitempty"`
	TopP            *float64     `json:"top_p,omitempty"`
	MaxOutputTokens int          `json:"max_output_tokens,omitempty"`
	ReasoningEffort *spec.Effort `json:"reasoning_effort,omitempty"`
	Seed            *int         `json:"seed,omitempty"`
	// Stop lists texts; the answer ends before the first of them.
	Stop        []string `json:"stop,omitempty"`
	ServiceTier string   `json:"service_tier,omitempty"`
	Verbosity   string   `json:"verbosity,omitempty"`
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
	if over.Seed != nil {
		p.Seed = over.Seed
	}
	if len(over.Stop) > 0 {
		p.Stop = over.Stop
	}
	p.ServiceTier = cmp.Or(over.ServiceTier, p.ServiceTier)
	p.Verbosity = cmp.Or(over.Verbosity, p.Verbosity)
	return p
}

// IsZero reports whether nothing is set.
func (p *Params) IsZero() bool {
	return p.MaxOutputTokens == 0 && p.ReasoningEffort == nil &&
		len(p.SetAmong("temperature", "top_p", "seed", "stop", "service_tier", "verbosity")) == 0
}

// SetAmong returns the given parameter names that p sets.
func (p *Params) SetAmong(names ...string) []string {
	var set []string
	for _, name := range names {
		var is bool
		switch name {
		case "temperature":
			is = p.Temperature != nil
		case "top_p":
			is = p.TopP != nil
		case "seed":
			is = p.Seed != nil
		case "stop":
			is = len(p.Stop) > 0
		case "service_tier":
			is = p.ServiceTier != ""
		case "verbosity":
			is = p.Verbosity != ""
		}
		if is {
			set = append(set, name)
		}
	}
	return set
}

// Tool is a tool as a model sees it.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments.
	Parameters json.RawMessage `json:"parameters"`
	// Output is the JSON Schema of the tool's result, if known; vendors without a field for it do
	// not receive it.
	Output json.RawMessage `json:"output,omitempty"`
}

// FinishReason says why an answer ended.
type FinishReason = event.FinishReason

// The finish reasons.
const (
	// FinishStop is an answer that the model ended.
	FinishStop FinishReason = "stop"
	// FinishToolCalls is an answer that awaits tool results.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishMaxTokens is an answer truncated by the output limit.
	FinishMaxTokens FinishReason = "max_tokens"
	// FinishContentFilter is an answer that the vendor withheld.
	FinishContentFilter FinishReason = "content_filter"
	// FinishNone is the reason of a turn without an answer.
	FinishNone FinishReason = "none"
)

// Usage counts the tokens of one or several requests.
type Usage = event.Usage
