package telemetry

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// content writes messages in the form of the semantic conventions' JSON schemas.
type content struct {
	redact func(string) string
	limit  int
}

func newContent(redact func(string) string, limit int) *content {
	if redact == nil {
		redact = func(text string) string { return text }
	}
	if limit <= 0 {
		limit = defaultMaxContent
	}
	return &content{redact, limit}
}

// message and part are the conventions' form of a message.
type message struct {
	Role         string `json:"role"`
	Parts        []part `json:"parts"`
	FinishReason string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Content   *string         `json:"content,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  *string         `json:"response,omitempty"`
	Modality  string          `json:"modality,omitempty"`
	MimeType  string          `json:"mime_type,omitempty"`
	URI       string          `json:"uri,omitempty"`
}

// appendRequest adds the instructions and the conversation.
func (c *content) appendRequest(attributes []attribute.KeyValue, messages []model.Message) []attribute.KeyValue {
	w := writer{content: c, left: c.limit}
	var instructions []part
	for i := range messages {
		if messages[i].Role == model.RoleSystem {
			instructions = append(instructions, w.toParts(messages[i].Parts)...)
		}
	}
	cut := w.cut
	w = writer{content: c, left: c.limit}
	var talk []message
	for _, m := range slices.Backward(messages) {
		if m.Role == model.RoleSystem {
			continue
		}
		if w.left <= 0 {
			w.cut = true
			break
		}
		talk = append(talk, message{Role: string(m.Role), Parts: w.toParts(m.Parts)})
	}
	slices.Reverse(talk)
	if len(instructions) > 0 {
		attributes = append(attributes, semconv.GenAISystemInstructionsKey.String(encodeJSON(instructions)))
	}
	attributes = append(attributes, semconv.GenAIInputMessagesKey.String(encodeJSON(talk)))
	return noteCut(attributes, cut || w.cut)
}

// appendAnswer adds the model's answer.
func (c *content) appendAnswer(attributes []attribute.KeyValue, m *model.Message, reason model.FinishReason) []attribute.KeyValue {
	w := writer{content: c, left: c.limit}
	answer := message{Role: string(model.RoleAssistant), Parts: w.toParts(m.Parts), FinishReason: "error"}
	if known, ok := finishReasons[reason]; ok {
		answer.FinishReason = known.Value.AsStringSlice()[0]
	}
	attributes = append(attributes, semconv.GenAIOutputMessagesKey.String(encodeJSON([]message{answer})))
	return noteCut(attributes, w.cut)
}

// appendArguments adds the arguments of a tool call.
func (c *content) appendArguments(attributes []attribute.KeyValue, arguments json.RawMessage) []attribute.KeyValue {
	w := writer{content: c, left: c.limit}
	attributes = append(attributes, semconv.GenAIToolCallArgumentsKey.String(string(w.redactJSON(arguments))))
	return noteCut(attributes, w.cut)
}

// appendResult adds the result of a tool call, as the text that the model reads.
func (c *content) appendResult(attributes []attribute.KeyValue, parts []model.Part) []attribute.KeyValue {
	w := writer{content: c, left: c.limit}
	attributes = append(attributes, semconv.GenAIToolCallResultKey.String(w.redactText(model.PartsText(parts))))
	return noteCut(attributes, w.cut)
}

// redactText returns a single text, redacted and cut.
func (c *content) redactText(text string) string {
	w := writer{content: c, left: c.limit}
	return w.redactText(text)
}

func noteCut(attributes []attribute.KeyValue, cut bool) []attribute.KeyValue {
	if cut {
		return append(attributes, keyContentCut.Bool(true))
	}
	return attributes
}

// writer writes one attribute.
type writer struct {
	*content
	// left is how many more bytes of text fit, not counting JSON syntax.
	left int
	cut  bool
}

// redactText redacts a text before cutting it, because half a secret would not be recognized.
func (w *writer) redactText(text string) string {
	text = w.redact(text)
	if len(text) > w.left {
		text, w.cut = strings.ToValidUTF8(text[:max(w.left, 0)], ""), true
	}
	w.left -= len(text)
	return text
}

func (w *writer) toParts(parts []model.Part) []part {
	written := make([]part, 0, len(parts))
	for i := range parts {
		written = append(written, w.toPart(&parts[i]))
	}
	return written
}

func (w *writer) toPart(p *model.Part) part {
	out := part{Type: string(p.Type)}
	text := func(s string) *string {
		s = w.redactText(s)
		return &s
	}
	switch {
	case p.Type == model.PartText:
		out.Content = text(p.Text)
	case p.Type == model.PartReasoning && p.Reasoning != nil:
		out.Content = text(p.Reasoning.Text)
	case p.Type == model.PartToolCall && p.ToolCall != nil:
		out.ID, out.Name, out.Arguments = p.ToolCall.ID, p.ToolCall.Name, w.redactJSON(p.ToolCall.Arguments)
	case p.Type == model.PartToolResult && p.ToolResult != nil:
		out.Type, out.ID = "tool_call_response", p.ToolResult.CallID
		out.Response = text(model.PartsText(p.ToolResult.Content))
	case p.Blob != nil:
		w.writeBlob(&out, p.Blob)
	}
	return out
}

// writeBlob records an image or file and its location, without its bytes.
func (w *writer) writeBlob(out *part, b *model.Blob) {
	out.MimeType, out.Modality = b.MediaType, "document"
	if kind, _, _ := strings.Cut(b.MediaType, "/"); kind == "image" || kind == "audio" || kind == "video" {
		out.Modality = kind
	}
	if b.URI != "" {
		out.Type, out.URI = "uri", w.redactText(b.URI)
		return
	}
	none := ""
	out.Type, out.Content = "blob", &none
}

// redactJSON redacts and shortens each text within JSON, so that it stays JSON. Invalid JSON
// becomes a text.
func (w *writer) redactJSON(data json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if !json.Valid(data) || dec.Decode(&v) != nil {
		return json.RawMessage(encodeJSON(w.redactText(string(data))))
	}
	return json.RawMessage(encodeJSON(w.redactValue(v)))
}

func (w *writer) redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return w.redactText(v)
	case json.Number:
		if number := w.redact(v.String()); number != v.String() || len(number) > w.left {
			return w.redactText(v.String())
		}
		w.left -= len(v)
		return v
	case []any:
		for i := range v {
			if w.left <= 0 {
				w.cut = true
				return v[:i]
			}
			v[i] = w.redactValue(v[i])
		}
		return v
	case map[string]any:
		return w.redactObject(v)
	default:
		return v
	}
}

func (w *writer) redactObject(v map[string]any) map[string]any {
	out := make(map[string]any, len(v))
	for _, name := range slices.Sorted(maps.Keys(v)) { // cutting must not depend on map order
		if w.left <= 0 {
			w.cut = true
			break
		}
		value := v[name]
		out[w.redactText(name)] = w.redactValue(value)
	}
	return out
}

// encodeJSON writes a value as JSON. The values are built here from JSON types only.
func encodeJSON(v any) string {
	encoded, err := rawjson.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(encoded)
}
