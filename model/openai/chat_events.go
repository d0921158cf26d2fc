package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

type chatChunk struct {
	ID      vendorhttp.Text               `json:"id"`
	Object  vendorhttp.Text               `json:"object"`
	Error   json.RawMessage               `json:"error"`
	Choices []chatChoice                  `json:"choices"`
	Usage   vendorhttp.Detail[*chatUsage] `json:"usage"`
	// Groq has the error of an aborted answer, and earlier the usage.
	Groq vendorhttp.Detail[groqFields] `json:"x_groq"`
}

// groqFields are the fields that Groq adds to a chunk.
type groqFields struct {
	Error json.RawMessage               `json:"error"`
	Usage vendorhttp.Detail[*chatUsage] `json:"usage"`
}

// failure returns the error in a chunk or one of its choices, or nil.
func (c *chatChunk) failure() error {
	if !vendorhttp.IsNothing(c.Error) {
		return parseErrorValue(c.Error).modelError()
	}
	if !vendorhttp.IsNothing(c.Groq.Value.Error) {
		return parseErrorValue(c.Groq.Value.Error).modelError()
	}
	for i := range c.Choices {
		if !vendorhttp.IsNothing(c.Choices[i].Error) {
			return parseErrorValue(c.Choices[i].Error).modelError()
		}
	}
	return nil
}

type chatChoice struct {
	Index        vendorhttp.Number `json:"index"`
	FinishReason vendorhttp.Text   `json:"finish_reason"`
	Delta        chatDelta         `json:"delta"`
	// Message is a whole answer, or the delta of some servers.
	Message *chatDelta      `json:"message"`
	Error   json.RawMessage `json:"error"`
	// Usage is Moonshot's usage.
	Usage vendorhttp.Detail[*chatUsage] `json:"usage"`
	// Text is the text from servers that use the older API's form.
	Text vendorhttp.Text `json:"text"`
	// ToolCalls are the calls of servers that put them beside the delta.
	ToolCalls []chatPiece `json:"tool_calls"`
	// CamelReason is the finish reason from gateways that use camel case.
	CamelReason vendorhttp.Text `json:"finishReason"`
}

type chatDelta struct {
	Content messageContent  `json:"content"`
	Refusal vendorhttp.Text `json:"refusal"`
	// ReasoningContent, Reasoning and ReasoningText are not the vendor's; servers of reasoning
	// models send one of them, or several with the same text.
	ReasoningContent foundText       `json:"reasoning_content"`
	Reasoning        vendorhttp.Text `json:"reasoning"`
	ReasoningText    vendorhttp.Text `json:"reasoning_text"`
	// Thinking is the reasoning of gateways that copy Ollama's own API.
	Thinking  vendorhttp.Content `json:"thinking"`
	ToolCalls []chatPiece        `json:"tool_calls"`
	// FunctionCall is the only call of an answer in the API's first form.
	FunctionCall *chatCallPiece `json:"function_call"`

	camelFields
	messageFields
}

// camelFields are the fields of a delta from gateways that use camel case.
type camelFields struct {
	CamelReasoning vendorhttp.Text `json:"reasoningContent"`
	CamelCalls     []chatPiece     `json:"toolCalls"`
	CamelCall      *chatCallPiece  `json:"functionCall"`
}

// normalize moves content under other names to the API's fields.
func (d *chatDelta) normalize() {
	d.Content.thought = cmp.Or(d.Content.thought, d.Thinking)
	if d.ReasoningContent.text == "" {
		d.ReasoningContent.text = d.CamelReasoning
	}
	if len(d.ToolCalls) == 0 {
		d.ToolCalls = d.CamelCalls
	}
	d.FunctionCall = cmp.Or(d.FunctionCall, d.CamelCall)
	d.Thinking, d.camelFields = "", camelFields{}
}

// DecodeText reads a delta that is a string.
func (d *chatDelta) DecodeText(text string) bool {
	d.Content.text = vendorhttp.Content(text)
	return true
}

// messageContent is the content of an answer: a string, or parts, some of which are thoughts with
// Mistral.
type messageContent struct{ text, thought vendorhttp.Content }

// UnmarshalJSON reads the text and the thoughts.
func (c *messageContent) UnmarshalJSON(data []byte) error {
	if data[0] == '[' && bytes.Contains(data, []byte(`"thinking"`)) {
		var parts []struct {
			Thinking vendorhttp.Content `json:"thinking"`
		}
		_ = json.Unmarshal(data, &parts) // others are texts
		for i := range parts {
			c.thought += parts[i].Thinking
		}
	}
	return c.text.UnmarshalJSON(data)
}

// foundText is a text that a server may have sent empty.
type foundText struct {
	text  vendorhttp.Text
	found bool
}

// UnmarshalJSON reads the text.
func (t *foundText) UnmarshalJSON(data []byte) error {
	t.found = data[0] == '"'
	return t.text.UnmarshalJSON(data)
}

// chatPiece is a piece of a tool call.
type chatPiece struct {
	Index    *vendorhttp.Number `json:"index"`
	ID       vendorhttp.Text    `json:"id"`
	Function chatCallPiece      `json:"function"`
	// Custom is a call of a tool with text input.
	Custom *chatCallPiece `json:"custom"`
	// Name and the arguments come from servers that send no function.
	Name vendorhttp.Text `json:"name"`

	callArgumentNames
	callFields
}

// isEmpty reports whether a piece contains only its index.
func (p *chatPiece) isEmpty() bool {
	return p.ID == "" && p.Name == "" && p.first() == "" && p.Function == chatCallPiece{} && p.Custom == nil && p.callFields.isEmpty()
}

type chatCallPiece struct {
	Name vendorhttp.Text `json:"name"`

	callArgumentNames
}

// DecodeText reads a function sent as only a name, with the arguments beside it.
func (p *chatCallPiece) DecodeText(text string) bool {
	if strings.ContainsRune(text, '{') {
		return false
	}
	p.Name = vendorhttp.Text(text)
	return true
}

// callArgumentNames holds a call's arguments under the names that servers use.
type callArgumentNames struct {
	Arguments  vendorhttp.Arguments `json:"arguments"`
	Parameters vendorhttp.Arguments `json:"parameters"`
	Args       vendorhttp.Arguments `json:"args"`
	Input      vendorhttp.Arguments `json:"input"`
}

// first returns the first non-empty arguments.
func (n *callArgumentNames) first() vendorhttp.Arguments {
	return cmp.Or(n.Arguments, n.Parameters, n.Args, n.Input)
}

// normalize moves the name and the arguments to the API's fields.
func (p *chatPiece) normalize() {
	f := &p.Function
	if (*f == chatCallPiece{}) && p.Custom != nil {
		*f = *p.Custom
	}
	f.Name = cmp.Or(f.Name, p.Name)
	f.callArgumentNames = callArgumentNames{Arguments: cmp.Or(f.first(), p.first())}
	p.Name, p.Custom, p.callArgumentNames = "", nil, callArgumentNames{}
}

type chatUsage struct {
	PromptTokens vendorhttp.Number `json:"prompt_tokens"`
	// PromptCacheHitTokens is DeepSeek's count of cached tokens.
	PromptCacheHitTokens vendorhttp.Number                `json:"prompt_cache_hit_tokens"`
	PromptTokensDetails  vendorhttp.Detail[promptDetails] `json:"prompt_tokens_details"`
	CompletionTokens     vendorhttp.Number                `json:"completion_tokens"`
	// InputTokens and OutputTokens are the Responses names, which some gateways use.
	InputTokens  vendorhttp.Number `json:"input_tokens"`
	OutputTokens vendorhttp.Number `json:"output_tokens"`

	CompletionTokensDetails vendorhttp.Detail[outputDetails] `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens     vendorhttp.Number `json:"cached_tokens"`
	CacheWriteTokens vendorhttp.Number `json:"cache_write_tokens"`
}

type outputDetails struct {
	ReasoningTokens vendorhttp.Number `json:"reasoning_tokens"`
}

// toUsage converts the usage to the runtime's counts.
func (u *chatUsage) toUsage() *model.Usage {
	usage := model.Usage{
		Input:      int(max(u.PromptTokens, u.InputTokens)),
		Output:     int(max(u.CompletionTokens, u.OutputTokens)),
		CacheRead:  int(max(u.PromptTokensDetails.Value.CachedTokens, u.PromptCacheHitTokens)),
		CacheWrite: int(u.PromptTokensDetails.Value.CacheWriteTokens),
		Reasoning:  int(u.CompletionTokensDetails.Value.ReasoningTokens),
	}.Reconciled()
	return &usage
}
