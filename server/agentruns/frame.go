package agentruns

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
)

const (
	// echoSize limits how much of a tool's result an event repeats, in bytes of JSON. A frame
	// contains it up to four times and must stay below 1 MiB, because clients cannot read lines
	// of 8 MiB.
	echoSize = 240 << 10
	// echoedSpec limits how much of a tool's declaration a call repeats.
	echoedSpec = 32 << 10
	// summarySize bounds the summary of a result.
	summarySize = 300
	// frameOverhead is the maximum size of an event without its type and payload.
	frameOverhead = 96
)

// frame is one event of a run.
type frame struct {
	// Seq numbers the events of a run from 1, without gaps.
	Seq     uint64
	Type    string
	Payload payload
}

// The types of the events of a run.
const (
	typeStarted            = "started"
	typeAssistantDelta     = "assistant_delta"
	typeThinkingDelta      = "thinking_delta"
	typeAssistantMessage   = "assistant_message"
	typeDeltasReset        = "deltas_reset"
	typeToolCall           = "tool_call"
	typeToolResult         = "tool_result"
	typeLocalToolCall      = "local_tool_call"
	typeLocalToolResultIn  = "local_tool_result_in"
	typeInteraction        = "interaction_requested"
	typeResolved           = "interaction_resolved"
	typeLoopDetected       = "loop_detected"
	typeToolBudgetExceeded = "tool_budget_exceeded"
	typeResult             = "result"
	typeError              = "error"
	typeCanceled           = "cancelled"
)

// modelUsed names a model in the terminal events.
type modelUsed struct {
	ID              string `json:"id"`
	Provider        string `json:"provider" minLength:"1"`
	VendorModelID   string `json:"vendorModelId"`
	ReasoningEffort string `json:"reasoningEffort,omitempty" enum:"off,low,medium,high"`
}

// isTerminal reports whether the event ends a run.
func (f *frame) isTerminal() bool {
	return f.Type == typeResult || f.Type == typeError || f.Type == typeCanceled
}

// payload is the content of an event. It must not have fields called seq, type or data.
type payload interface {
	// kind is the type of the event.
	eventKind() string
}

// writeTo writes the event as a server-sent event, in both forms: some clients read its fields from
// the top level, and others below data.
func (f *frame) writeTo(b *bytes.Buffer) error {
	body, err := json.Marshal(f.Payload)
	if err != nil {
		return err
	}
	body = clip.Object(body, f.payloadRoom())
	b.Grow(2*len(body) + 2*len(f.Type) + frameOverhead)
	b.WriteString("id: ")
	b.Write(strconv.AppendUint(b.AvailableBuffer(), f.Seq, 10))
	b.WriteString("\nevent: ")
	b.WriteString(f.Type)
	b.WriteString("\ndata: {\"seq\":")
	b.Write(strconv.AppendUint(b.AvailableBuffer(), f.Seq, 10))
	b.WriteString(`,"type":"`)
	b.WriteString(f.Type)
	b.WriteString(`",`)
	if inner := body[1 : len(body)-1]; len(inner) > 0 {
		b.Write(inner)
		b.WriteByte(',')
	}
	b.WriteString(`"data":`)
	b.Write(body)
	b.WriteString("}\n\n")
	return nil
}

// payloadRoom returns the maximum size of a payload that is written twice. A run's result is cut
// only if clients could not read it.
func (f *frame) payloadRoom() int {
	size := server.MaxFrame
	if f.isTerminal() {
		size = server.MaxLastFrame
	}
	return (size - frameOverhead - 2*len(f.Type)) / 2
}

// The payloads, in the protocol's form.
type (
	started        struct{}
	assistantDelta struct {
		Text string `json:"text"`
	}
	thinkingDelta struct {
		Text string `json:"text"`
	}
	deltasReset struct {
		FromSeq uint64 `json:"fromSeq" minimum:"1"`
	}
	assistantMessage struct {
		Text         string    `json:"text"`
		Turn         int       `json:"turn" minimum:"0" jsonschema:"The number of the model call, from 0."`
		FinishReason *string   `json:"finishReason" ref:"FinishReason"`
		ToolCalls    []toolUse `json:"toolCalls,omitempty" minItems:"1"`
	}
	toolUse struct {
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input" ref:"Arguments"`
	}
	toolCall struct {
		ToolUseID string          `json:"toolUseId"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input" ref:"Arguments"`
	}
	toolResult struct {
		ToolUseID string `json:"toolUseId"`
		Name      string `json:"name"`
		OK        bool   `json:"ok"`
		Summary   string `json:"summary" jsonschema:"The beginning of the result."`
		Result    string `json:"result" jsonschema:"The result. A very long result is truncated here, but not for the model."`
	}
	localToolCall struct {
		ToolUseID string          `json:"toolUseId"`
		Name      string          `json:"name"`
		Args      json.RawMessage `json:"args" type:"object" jsonschema:"The arguments, which match the tool's schema."`
		localEcho
	}
	localToolResultIn struct {
		ToolUseID string  `json:"toolUseId"`
		Result    *string `json:"result,omitempty"`
		Output    *string `json:"output,omitempty" jsonschema:"The same as result."`
		Error     *string `json:"error,omitempty"`
	}
	interactionResolved struct {
		InteractionID string          `json:"interactionId"`
		ToolUseID     string          `json:"toolUseId,omitempty"`
		Action        string          `json:"action" enum:"resume,cancel"`
		Result        json.RawMessage `json:"result,omitempty" jsonschema:"The answer."`
	}
	loopDetected struct {
		Count      int      `json:"consecutiveCount" minimum:"2"`
		HardCutoff bool     `json:"hardCutoff" jsonschema:"Whether the model must now answer without tools."`
		Tools      []string `json:"tools"`
	}
	toolBudgetExceeded struct {
		Tool     string `json:"tool"`
		MaxCalls int    `json:"maxCalls" minimum:"0"`
		Call     int    `json:"callIndex" minimum:"1" jsonschema:"The number of this tool's call, from 1."`
	}
	runResult struct {
		OK      bool    `json:"ok"`
		Subtype string  `json:"subtype" enum:"success,error_max_tool_turns"`
		Text    *string `json:"text,omitempty" jsonschema:"The result of the run; JSON if there is an outputSchema."`
		Error   string  `json:"error,omitempty"`
		usage
	}
	runError struct {
		Error        string  `json:"error" jsonschema:"The message for people."`
		Code         string  `json:"code" jsonschema:"The same as errorClass."`
		Subtype      string  `json:"subtype,omitempty" enum:"error_local_tool_timeout" jsonschema:"For the class local_timeout."`
		ErrorClass   string  `json:"errorClass" enum:"rate_limit,overloaded,server,context_window,truncation,invalid_request,auth,timeout,local_timeout,upstream_deadline,unknown"`
		FinishReason *string `json:"finishReason,omitempty" ref:"FinishReason"`
		PartialText  *string `json:"partialText,omitempty" jsonschema:"The text of the run so far, if it is useful."`
		Retryable    bool    `json:"retryable" jsonschema:"Whether the same run may succeed later."`
		usage
	}
	canceled struct {
		Reason string `json:"reason" const:"user"`
	}
)

// localEcho is the part of a client tool's declaration that its calls repeat.
type localEcho struct {
	Kind          string          `json:"kind" enum:"local,a2a_local,mcp_local"`
	AgentCard     json.RawMessage `json:"agentCard,omitempty" type:"object" jsonschema:"For a2a_local."`
	MCPServer     string          `json:"mcpServer,omitempty" jsonschema:"The name of the server for mcp_local."`
	MCPToolName   string          `json:"mcpToolName,omitempty" jsonschema:"The name of the tool at the server."`
	MCPServerInfo json.RawMessage `json:"mcpServerInfo,omitempty" type:"object"`
}

// clipFields removes fields from the client that are too large.
func (e *localEcho) clipFields() {
	for _, raw := range []*json.RawMessage{&e.AgentCard, &e.MCPServerInfo} {
		if encoded, err := json.Marshal(*raw); err != nil || len(encoded) > echoedSpec {
			*raw = nil
		}
	}
}

// usage is the usage of a run, in its terminal event and snapshot.
type usage struct {
	Tokens tokens    `json:"tokens"`
	Turns  int       `json:"turns" minimum:"0" jsonschema:"The number of model calls."`
	Model  modelUsed `json:"model"`
}

type tokens struct {
	Input     int `json:"inputTokens" minimum:"0"`
	Cached    int `json:"cachedTokens" minimum:"0"`
	Reasoning int `json:"reasoningTokens" minimum:"0"`
	Output    int `json:"outputTokens" minimum:"0"`
}

func tokensOf(u *event.Usage) tokens {
	return tokens{Input: u.Input, Cached: u.CacheRead, Reasoning: u.Reasoning, Output: u.Output}
}

func (started) eventKind() string             { return typeStarted }
func (assistantDelta) eventKind() string      { return typeAssistantDelta }
func (thinkingDelta) eventKind() string       { return typeThinkingDelta }
func (deltasReset) eventKind() string         { return typeDeltasReset }
func (assistantMessage) eventKind() string    { return typeAssistantMessage }
func (toolCall) eventKind() string            { return typeToolCall }
func (toolResult) eventKind() string          { return typeToolResult }
func (localToolCall) eventKind() string       { return typeLocalToolCall }
func (localToolResultIn) eventKind() string   { return typeLocalToolResultIn }
func (interactionView) eventKind() string     { return typeInteraction }
func (interactionResolved) eventKind() string { return typeResolved }
func (loopDetected) eventKind() string        { return typeLoopDetected }
func (toolBudgetExceeded) eventKind() string  { return typeToolBudgetExceeded }
func (runResult) eventKind() string           { return typeResult }
func (runError) eventKind() string            { return typeError }
func (canceled) eventKind() string            { return typeCanceled }

// echoText returns a text in the form that events repeat.
func echoText(text string) string {
	size := 0
	for i, r := range text {
		if size += encodedSize(r); size > echoSize {
			return text[:i] + "…"
		}
	}
	return text
}

// encodedSize returns the maximum number of JSON bytes of a character.
func encodedSize(r rune) int {
	switch {
	case r < ' ', r == '<', r == '>', r == '&', r == utf8.RuneError, r == '\u2028', r == '\u2029':
		return len(`\u003c`)
	case r == '"', r == '\\':
		return len(`\"`)
	default:
		return utf8.RuneLen(r)
	}
}
