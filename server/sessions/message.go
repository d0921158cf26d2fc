package sessions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// The types of the parts of messages.
const (
	partText       = "text"
	partJSON       = "json"
	partToolCall   = "tool_call"
	partToolResult = "tool_result"
	partImageRef   = "image_ref"
)

// message is one of a turn.
type message struct {
	Role     string          `json:"role"`
	Text     string          `json:"text,omitempty"`
	Parts    []part          `json:"parts,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// part is a piece of a message; its type says which field is set.
type part struct {
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"`
	JSON       json.RawMessage `json:"json,omitempty"`
	ToolCall   *toolCall       `json:"toolCall,omitempty"`
	ToolResult *toolResult     `json:"toolResult,omitempty"`
	ImageRef   *imageRef       `json:"imageRef,omitempty"`
}

type toolCall struct {
	ID        string          `json:"id,omitempty"`
	ToolID    string          `json:"toolId"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type toolResult struct {
	ToolCallID string          `json:"toolCallId"`
	Status     int             `json:"status,omitempty"`
	Content    string          `json:"content,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
}

type imageRef struct {
	URI      string `json:"uri"`
	MimeType string `json:"mimeType,omitempty"`
}

// splitMessages returns what was said before a turn, up to the last message of the
// assistant, and the input, which is what follows.
func splitMessages(given []message) (before, input []model.Message, err error) {
	if len(given) == 0 {
		return nil, nil, badRequest("messages must have at least one message")
	}
	all := make([]model.Message, len(given))
	for i := range given {
		if all[i], err = given[i].toModel(fmt.Sprintf("messages[%d]", i)); err != nil {
			return nil, nil, err
		}
	}
	before, input, ok := surfacekit.SplitInput(all)
	if !ok {
		return nil, nil, badRequest("the last message must not be the assistant's")
	}
	return before, input, nil
}

// toModel returns the message for the model. Data, and calls and results of tools that
// this turn did not make, are shown to it as text.
func (m *message) toModel(path string) (model.Message, error) {
	role, ok := surfacekit.Role(strings.TrimSpace(m.Role))
	out := model.Message{Role: role}
	if !ok {
		return out, badRequest("%s.role %q is not supported: use user, system, assistant or tool", path, clip.Text(m.Role))
	}
	if m.Text != "" {
		out.Parts = append(out.Parts, model.Text(m.Text))
	}
	for i := range m.Parts {
		p, err := m.Parts[i].toModel(fmt.Sprintf("%s.parts[%d]", path, i))
		if err != nil {
			return out, err
		}
		if p.Type == model.PartImage && strings.TrimSpace(m.Role) != surfacekit.RoleUser {
			return out, badRequest("%s.parts[%d]: only messages of the user have images", path, i)
		}
		out.Parts = append(out.Parts, p)
	}
	if len(out.Parts) == 0 {
		return out, badRequest("%s has neither text nor parts", path)
	}
	return out, nil
}

// checkFields rejects a part with the content of another type.
func (p *part) checkFields(path string) error {
	for _, content := range []struct {
		partType, field string
		has             bool
	}{
		{partText, "text", p.Text != ""}, {partJSON, "json", len(p.JSON) > 0 && string(p.JSON) != "null"}, {partToolCall, "toolCall", p.ToolCall != nil},
		{partToolResult, "toolResult", p.ToolResult != nil}, {partImageRef, "imageRef", p.ImageRef != nil},
	} {
		if content.has && content.partType != p.Type {
			return badRequest("%s.%s belongs to the type %s, and the part has the type %s", path, content.field, content.partType, clip.Text(p.Type))
		}
	}
	return nil
}

func (p *part) toModel(path string) (model.Part, error) {
	if err := p.checkFields(path); err != nil {
		return model.Part{}, err
	}
	switch {
	case p.Type == partText:
		return model.Text(p.Text), nil
	case p.Type == partJSON && len(p.JSON) > 0:
		return model.Text(compactJSON(p.JSON)), nil
	case p.Type == partToolCall && p.ToolCall != nil:
		return surfacekit.CallText(p.ToolCall.ID, p.ToolCall.ToolID, compactJSON(p.ToolCall.Arguments)), nil
	case p.Type == partToolResult && p.ToolResult != nil:
		return p.ToolResult.toModel(), nil
	case p.Type == partImageRef && p.ImageRef != nil && p.ImageRef.URI != "":
		if scheme, _, _ := strings.Cut(p.ImageRef.URI, ":"); !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "data") {
			return model.Part{}, badRequest("%s.imageRef.uri: scheme %q is not supported: use https or data", path, clip.Text(scheme))
		}
		return model.Part{Type: model.PartImage, Blob: &model.Blob{MediaType: p.ImageRef.MimeType, URI: p.ImageRef.URI}}, nil
	}
	switch p.Type {
	case partJSON, partToolCall, partToolResult, partImageRef:
		return model.Part{}, badRequest("%s is of type %s and lacks its content", path, p.Type)
	default:
		return model.Part{}, badRequest("%s.type %q is not supported: use text, json, tool_call, tool_result or image_ref", path, clip.Text(p.Type))
	}
}

// toModel returns the result as the model reads it.
func (r *toolResult) toModel() model.Part {
	content := r.Content
	if content == "" {
		content = compactJSON(r.Output)
	}
	return surfacekit.ResultText(r.ToolCallID, r.Status, content)
}

// compactJSON returns a JSON value in its shortest form.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// messagesFrom shows the messages of a turn that did not keep them as they were given.
func messagesFrom(kept []model.Message) []message {
	list := make([]message, len(kept))
	for i := range kept {
		list[i] = message{Role: string(kept[i].Role), Text: kept[i].Text()}
		for j := range kept[i].Parts {
			if b := kept[i].Parts[j].Blob; b != nil && b.URI != "" {
				list[i].Parts = append(list[i].Parts, part{Type: partImageRef, ImageRef: &imageRef{b.URI, b.MediaType}})
			}
		}
	}
	return list
}
