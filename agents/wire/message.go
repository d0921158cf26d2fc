package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Role is the author of a message.
type Role string

// The roles of messages.
const (
	RoleSystem Role = "system"
	RoleUser   Role = "user"
	RoleModel  Role = "model"
	RoleTool   Role = "tool"
)

// Message is one message of a conversation. An input may omit its role, which defaults to the
// user's.
type Message struct {
	Role     Role                       `json:"role,omitempty" enum:"system,user,model,tool"`
	Content  Parts                      `json:"content"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Parts are the required parts of something.
type Parts []Part

// MarshalJSON writes the parts. Without any it writes an empty array, because clients iterate over
// it.
func (p Parts) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]Part(p))
}

// Text returns the text of all text parts, joined.
func (m *Message) Text() string {
	var text strings.Builder
	for _, part := range m.Content {
		if part.Text != nil {
			text.WriteString(*part.Text)
		}
	}
	return text.String()
}

// Part is one part of a message or of an artifact. It has one kind of content, which
// Data and Custom may accompany, see Check. Metadata and raw fields keep the JSON
// they were read from, so that numbers and unknown keys survive a round trip.
type Part struct {
	Text         *string                    `json:"text,omitempty"`
	Media        *Media                     `json:"media,omitempty"`
	ToolRequest  *ToolRequest               `json:"toolRequest,omitempty"`
	ToolResponse *ToolResponse              `json:"toolResponse,omitempty"`
	Reasoning    *string                    `json:"reasoning,omitempty"`
	Resource     *Resource                  `json:"resource,omitempty"`
	Data         json.RawMessage            `json:"data,omitempty"`
	Custom       map[string]json.RawMessage `json:"custom,omitzero"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
}

// NewTextPart returns a part of plain text.
func NewTextPart(text string) Part { return Part{Text: &text} }

// Check returns an error if the part has no content, or several kinds of it.
func (p *Part) Check() error {
	var kinds []string
	for _, kind := range []struct {
		name string
		set  bool
	}{
		{"text", p.Text != nil}, {"media", p.Media != nil},
		{"toolRequest", p.ToolRequest != nil}, {"toolResponse", p.ToolResponse != nil},
		{"reasoning", p.Reasoning != nil}, {"resource", p.Resource != nil},
	} {
		if kind.set {
			kinds = append(kinds, kind.name)
		}
	}
	switch {
	case len(kinds) == 0 && p.Data == nil && p.Custom == nil:
		return errors.New("the part has no content: set text, media, toolRequest, toolResponse, reasoning, resource, data or custom")
	case len(kinds) > 1:
		return fmt.Errorf("the part has %s: set only one", strings.Join(kinds, " and "))
	case p.Media != nil && p.Media.URL == "":
		return errors.New("the media part has no url")
	case p.ToolRequest != nil && p.ToolRequest.Name == "":
		return errors.New("the toolRequest has no name")
	case p.ToolResponse != nil && p.ToolResponse.Name == "":
		return errors.New("the toolResponse has no name")
	case p.Resource != nil && p.Resource.URI == "":
		return errors.New("the resource has no uri")
	}
	return nil
}

// Media is a file, given by its URL or as a data URL.
type Media struct {
	ContentType string `json:"contentType,omitempty"`
	URL         string `json:"url"`
}

// ToolRequest is a model's call of a tool. Ref is unique among the calls of a tool
// in one message.
type ToolRequest struct {
	Name    string          `json:"name"`
	Ref     string          `json:"ref,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Partial bool            `json:"partial,omitempty"`
}

// ToolResponse is the result of the tool request with the same name and ref.
type ToolResponse struct {
	Name    string          `json:"name"`
	Ref     string          `json:"ref,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Content []Part          `json:"content,omitempty"`
}

// Resource is content at a URI.
type Resource struct {
	URI string `json:"uri"`
}

// Artifact is a product of an agent. A named artifact replaces an earlier one with that name;
// unnamed ones are always added.
type Artifact struct {
	Name     string                     `json:"name,omitempty"`
	Parts    Parts                      `json:"parts"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}
