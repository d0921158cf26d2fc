package native

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// checkInput rejects input with parts that callers cannot supply: parts of models and tools, or
// no parts at all. The service checks the roles.
func checkInput(input []model.Message) error {
	for i := range input {
		for n := range input[i].Parts {
			part := &input[i].Parts[n]
			switch part.Type {
			case model.PartText, model.PartImage, model.PartFile:
			default:
				return &service.InvalidError{Field: fmt.Sprintf("input[%d].parts[%d].type", i, n), Problem: fmt.Sprintf("%q must be text, image or file", part.Type)}
			}
			if !isComplete(part) {
				return &service.InvalidError{Field: fmt.Sprintf("input[%d].parts[%d]", i, n), Problem: fmt.Sprintf("a part of type %s needs its content", part.Type)}
			}
			if field := foreignField(part); field != "" {
				return &service.InvalidError{Field: fmt.Sprintf("input[%d].parts[%d].%s", i, n, field), Problem: fmt.Sprintf("a part of type %s has no such field", part.Type)}
			}
		}
	}
	return nil
}

// checkExport returns an error for an export with messages that no model accepts: a part lacks a
// field that its type requires.
func checkExport(export *service.SessionExport) error {
	for i := range export.Snapshots {
		for n, raw := range export.Snapshots[i].Messages {
			var m model.Message
			if err := json.Unmarshal(raw, &m); err != nil {
				return &service.InvalidError{Field: fmt.Sprintf("snapshots[%d].messages[%d]", i, n), Problem: "not a message"}
			}
			for k := range m.Parts {
				if !isComplete(&m.Parts[k]) {
					return &service.InvalidError{Field: fmt.Sprintf("snapshots[%d].messages[%d].parts[%d]", i, n, k), Problem: fmt.Sprintf("a part of type %q needs its content", m.Parts[k].Type)}
				}
			}
		}
	}
	return nil
}

// foreignField returns a field of a caller's part that belongs to another part type; empty if all
// fields fit.
func foreignField(p *model.Part) string {
	switch {
	case p.Text != "" && p.Type != model.PartText:
		return "text"
	case p.Blob != nil && p.Type == model.PartText:
		return "blob"
	case p.Reasoning != nil:
		return "reasoning"
	case p.ToolCall != nil:
		return "tool_call"
	case p.ToolResult != nil:
		return "tool_result"
	}
	return ""
}

// isComplete reports whether a part has the fields that its type requires.
func isComplete(p *model.Part) bool {
	switch p.Type {
	case model.PartText:
		return true
	case model.PartImage, model.PartFile:
		return p.Blob != nil && (len(p.Blob.Data) > 0) != (p.Blob.URI != "")
	case model.PartReasoning:
		return p.Reasoning != nil
	case model.PartToolCall:
		return p.ToolCall != nil
	case model.PartToolResult:
		if p.ToolResult == nil {
			return false
		}
		for i := range p.ToolResult.Content {
			if !isComplete(&p.ToolResult.Content[i]) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
