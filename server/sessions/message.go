package sessions

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// Types of message parts.
const (
	partText       = "text"
	partJSON       = "json"
	partToolCall   = "tool_call"
	partToolResult = "tool_result"
	partImageRef   = "image_ref"
)

// message is a message of a turn.
type message struct {
	Role     string          `json:"role" jsonschema:"Role of the sender: user, system, developer, assistant or tool."`
	Text     string          `json:"text,omitempty"`
	Parts    []part          `json:"parts,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// part is a piece of a message. Its type decides which field is set.
type part struct {
	Type       string          `json:"type" jsonschema:"Type of the part: text, json, tool_call, tool_result or image_ref."`
	Text       string          `json:"text,omitempty"`
	JSON       json.RawMessage `json:"json,omitempty"`
	ToolCall   *toolCall       `json:"toolCall,omitempty"`
	ToolResult *toolResult     `json:"toolResult,omitempty"`
	ImageRef   *imageRef       `json:"imageRef,omitempty"`
}

type toolCall struct {
	ID        string          `json:"id,omitempty"`
	ToolID    string          `json:"toolId" optional:"true"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type toolResult struct {
	ToolCallID string          `json:"toolCallId" optional:"true"`
	Status     int             `json:"status,omitempty"`
	Content    string          `json:"content,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
}

type imageRef struct {
	URI      string `json:"uri" optional:"true" jsonschema:"An https or data URL, or artifact: followed by an id."`
	MimeType string `json:"mimeType,omitempty"`
}

// splitMessages splits messages into the history, up to the assistant's last message, and the
// input after it.
func (c *call) splitMessages(given []message) (before, input []model.Message, err error) {
	if len(given) == 0 {
		return nil, nil, badRequest("messages must have at least one message")
	}
	all := make([]model.Message, len(given))
	for i := range given {
		given[i].trimSpaces()
		if all[i], err = given[i].toModel(fmt.Sprintf("messages[%d]", i), c.findArtifact); err != nil {
			return nil, nil, err
		}
	}
	before, input, ok := surfacekit.SplitInput(all)
	if !ok {
		return nil, nil, badRequest("the last message must not be the assistant's")
	}
	return before, input, nil
}

// trimSpaces trims the spaces around names and IDs.
func (m *message) trimSpaces() {
	m.Role = strings.TrimSpace(m.Role)
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Type = strings.TrimSpace(p.Type)
		if c := p.ToolCall; c != nil {
			c.ID, c.ToolID = strings.TrimSpace(c.ID), strings.TrimSpace(c.ToolID)
		}
		if r := p.ToolResult; r != nil {
			r.ToolCallID = strings.TrimSpace(r.ToolCallID)
		}
		if r := p.ImageRef; r != nil {
			r.URI, r.MimeType = strings.TrimSpace(r.URI), strings.TrimSpace(r.MimeType)
		}
	}
}

func (c *call) findArtifact(id string) (*service.Artifact, error) {
	return c.settings.Service.GetArtifact(c.r.Context(), c.caller, id)
}

// toModel returns the message for the model. Data, and tool calls and results that this turn did
// not make, become text.
func (m *message) toModel(path string, find surfacekit.ArtifactFinder) (model.Message, error) {
	role, ok := surfacekit.Role(m.Role)
	out := model.Message{Role: role}
	if !ok {
		return out, badRequest("%s.role %q is not supported: use user, system, assistant or tool", path, clip.Text(m.Role))
	}
	if m.Text != "" {
		out.Parts = append(out.Parts, model.Text(m.Text))
	}
	for i := range m.Parts {
		p, err := m.Parts[i].toModel(fmt.Sprintf("%s.parts[%d]", path, i), find)
		if err != nil {
			return out, err
		}
		if p.Type == model.PartImage && m.Role != surfacekit.RoleUser {
			return out, badRequest("%s.parts[%d]: only messages of the user have images", path, i)
		}
		out.Parts = append(out.Parts, p)
	}
	if len(out.Parts) == 0 {
		return out, badRequest("%s has neither text nor parts", path)
	}
	return out, nil
}

// checkFields rejects a part with content of another type.
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

func (p *part) toModel(path string, find surfacekit.ArtifactFinder) (model.Part, error) {
	if err := p.checkFields(path); err != nil {
		return model.Part{}, err
	}
	switch {
	case p.Type == partText:
		return model.Text(p.Text), nil
	case p.Type == partJSON && len(p.JSON) > 0:
		return model.Text(rawjson.CompactText(p.JSON)), nil
	case p.Type == partToolCall && p.ToolCall != nil:
		return surfacekit.CallText(p.ToolCall.ID, p.ToolCall.ToolID, rawjson.CompactText(p.ToolCall.Arguments)), nil
	case p.Type == partToolResult && p.ToolResult != nil:
		return p.ToolResult.toModel(), nil
	case p.Type == partImageRef && p.ImageRef != nil && p.ImageRef.URI != "":
		return surfacekit.ImageRef(model.Blob{URI: p.ImageRef.URI, MediaType: p.ImageRef.MimeType}, path+".imageRef.uri", find)
	}
	switch p.Type {
	case partJSON, partToolCall, partToolResult, partImageRef:
		return model.Part{}, badRequest("%s is of type %s and lacks its content", path, p.Type)
	default:
		return model.Part{}, badRequest("%s.type %q is not supported: use text, json, tool_call, tool_result or image_ref", path, clip.Text(p.Type))
	}
}

// toModel returns the result in the model's form.
func (r *toolResult) toModel() model.Part {
	content := r.Content
	if content == "" {
		content = rawjson.CompactText(r.Output)
	}
	return surfacekit.ResultText(r.ToolCallID, r.Status, content)
}

// messagesFrom returns the messages of a turn that did not store the original ones.
func messagesFrom(kept []model.Message) []message {
	list := make([]message, len(kept))
	for i := range kept {
		list[i] = message{Role: string(kept[i].Role), Text: kept[i].Text()}
		for j := range kept[i].Parts {
			if b := kept[i].Parts[j].Blob; b != nil {
				list[i].Parts = append(list[i].Parts, part{Type: partImageRef, ImageRef: &imageRef{surfacekit.DataURL(b), b.MediaType}})
			}
		}
	}
	return list
}
