// Package model defines the interface to language models: messages, requests, streamed answers,
// usage and errors. A vendor implements Executor, in a separate sub-package.
package model

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Role is the sender of a message.
type Role string

// The roles of messages.
const (
	// RoleSystem carries instructions.
	RoleSystem Role = "system"
	// RoleUser is the person or program that the agent works for.
	RoleUser Role = "user"
	// RoleAssistant is the model.
	RoleAssistant Role = "assistant"
	// RoleTool carries the results of tool calls, one part each, in the order
	// of the calls.
	RoleTool Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	ID    string `json:"id,omitempty"`
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// Metadata is a JSON object kept with the message for display. No model sees it.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// PartType determines which field of a Part is set.
type PartType string

// The types of parts.
const (
	// PartText is text, in Part.Text.
	PartText PartType = "text"
	// PartImage is a picture, in Part.Blob.
	PartImage PartType = "image"
	// PartFile is any other file, such as a PDF or a recording, in Part.Blob.
	PartFile PartType = "file"
	// PartReasoning is the model's reasoning, in Part.Reasoning.
	PartReasoning PartType = "reasoning"
	// PartToolCall is a call requested by the model, in Part.ToolCall.
	PartToolCall PartType = "tool_call"
	// PartToolResult is the outcome of a call, in Part.ToolResult.
	PartToolResult PartType = "tool_result"
)

// Part is one piece of a message. Type determines which of the other fields is set.
type Part struct {
	Type       PartType    `json:"type"`
	Text       string      `json:"text,omitempty"`
	Blob       *Blob       `json:"blob,omitempty"`
	Reasoning  *Reasoning  `json:"reasoning,omitempty"`
	ToolCall   *ToolCall   `json:"tool_call,omitempty"`
	ToolResult *ToolResult `json:"tool_result,omitempty"`
}

// Blob is an image or file: its bytes, or their location.
type Blob struct {
	// MediaType is the content's MIME type, as in image/png.
	MediaType string `json:"media_type"`
	// Data is the content; JSON carries it in base64. Empty when URI is set.
	Data []byte `json:"data,omitempty"`
	// URI is the location of the content; empty when Data is set.
	URI string `json:"uri,omitempty"`
	// Name is the file's name, if any.
	Name string `json:"name,omitempty"`
}

// Reasoning is a model's reasoning before its answer.
type Reasoning struct {
	Text string `json:"text,omitempty"`
	// Encrypted is the vendor's opaque form, to be sent back unchanged with
	// the conversation.
	Encrypted string `json:"encrypted,omitempty"`
	// ID is the vendor's id of the reasoning item, if any.
	ID string `json:"id,omitempty"`
	// Field is the vendor's field that Text came in and is returned in; empty if the vendor does
	// not accept it back.
	Field string `json:"field,omitempty"`
}

// ToolCall is a call requested by a model.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is a JSON object, as the model wrote it. It may be malformed.
	Arguments json.RawMessage `json:"arguments"`
	// Repair names the repair of Arguments; empty if they are as the model wrote them.
	Repair Repair `json:"repair,omitempty"`
	// Extra is the vendor's opaque JSON that is returned with the call.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// MarshalJSON writes the call. It writes arguments that are not JSON as a string, so that a message
// can always be stored and shown.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	type plain ToolCall
	c.Arguments = rawjson.Encode(c.Arguments)
	return json.Marshal(plain(c))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *ToolCall) UnmarshalJSON(data []byte) (err error) {
	type plain ToolCall
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	c.Arguments, err = rawjson.Decode(c.Arguments)
	return err
}

// ToolResult is the outcome of a call.
type ToolResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Content is the content for the model.
	Content []Part `json:"content"`
	// IsError tells the model that the call failed.
	IsError bool `json:"is_error,omitempty"`
}

// Text returns a text part.
func Text(text string) Part { return Part{Type: PartText, Text: text} }

// File returns a part with a file, or an image if its media type says so.
func File(blob *Blob) Part {
	if strings.HasPrefix(blob.MediaType, "image/") {
		return Part{Type: PartImage, Blob: blob}
	}
	return Part{Type: PartFile, Blob: blob}
}

// User returns a message from the user with one text part.
func User(text string) Message { return Message{Role: RoleUser, Parts: []Part{Text(text)}} }

// System returns a message of instructions with one text part.
func System(text string) Message { return Message{Role: RoleSystem, Parts: []Part{Text(text)}} }

// Assistant returns an answer of the model with one text part.
func Assistant(text string) Message { return Message{Role: RoleAssistant, Parts: []Part{Text(text)}} }

// Text returns the text parts of the message joined.
func (m *Message) Text() string { return PartsText(m.Parts) }

// HasToolCalls reports whether the message requests any call.
func (m *Message) HasToolCalls() bool { return m.countToolCalls() > 0 }

// ToolCalls returns the calls that the message requests, in order. The calls are shared with the
// message.
func (m *Message) ToolCalls() []*ToolCall {
	n := m.countToolCalls()
	if n == 0 {
		return nil
	}
	calls := make([]*ToolCall, 0, n)
	for i := range m.Parts {
		if m.Parts[i].Type == PartToolCall {
			calls = append(calls, m.Parts[i].ToolCall)
		}
	}
	return calls
}

func (m *Message) countToolCalls() (n int) {
	for i := range m.Parts {
		if m.Parts[i].Type == PartToolCall {
			n++
		}
	}
	return n
}

// Text returns the result's texts, each on separate lines.
func (r *ToolResult) Text() string { return joinTexts(r.Content, "\n") }

// PartsText returns the joined text of parts.
func PartsText(parts []Part) string {
	return joinTexts(parts, "")
}

// joinTexts joins the texts of parts with a separator. A single text is not copied.
func joinTexts(parts []Part, separator string) string {
	texts := make([]string, 0, 8)
	for i := range parts {
		if parts[i].Type == PartText && parts[i].Text != "" {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, separator)
}
