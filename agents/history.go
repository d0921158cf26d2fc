package agents

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/model"
)

// toHistory returns a conversation that a client kept. System messages are rejected: clients must
// not give instructions.
func toHistory(list []wire.Message) ([]model.Message, error) {
	roles := map[wire.Role]model.Role{
		wire.RoleUser: model.RoleUser, wire.RoleModel: model.RoleAssistant, wire.RoleTool: model.RoleTool, "": model.RoleUser,
	}
	out := make([]model.Message, len(list))
	for i := range list {
		role, ok := roles[list[i].Role]
		if !ok {
			return nil, newError(wire.StatusInvalidArgument, "init.state.messages[%d].role is %q; it must be user, model or tool", i, list[i].Role)
		}
		out[i] = model.Message{Role: role, Parts: make([]model.Part, len(list[i].Content)), Metadata: extrasOf(&list[i])}
		for j := range list[i].Content {
			part, problem := toModelPart(&list[i].Content[j])
			if media := list[i].Content[j].Media; problem == "" && media != nil && role == model.RoleUser {
				problem = checkAddress(media.URL)
			}
			if problem != "" {
				return nil, newError(wire.StatusInvalidArgument, "init.state.messages[%d].content[%d] %s", i, j, problem)
			}
			out[i].Parts[j] = part
		}
	}
	return out, nil
}

// toModelPart returns a part, or an error text.
func toModelPart(p *wire.Part) (out model.Part, problem string) {
	switch {
	case p.Text != nil:
		return model.Text(*p.Text), ""
	case p.Media != nil:
		return toFilePart(p.Media)
	case p.Reasoning != nil:
		kept := new(model.Reasoning)
		if raw := p.Metadata[metaReasoning]; len(raw) > 0 && json.Unmarshal(raw, kept) != nil {
			return out, "has metadata.reasoning of another server"
		}
		kept.Text = *p.Reasoning
		return model.Part{Type: model.PartReasoning, Reasoning: kept}, ""
	case p.ToolRequest != nil:
		call := &model.ToolCall{ID: p.ToolRequest.Ref, Name: p.ToolRequest.Name, Arguments: p.ToolRequest.Input}
		if len(call.Arguments) == 0 {
			call.Arguments = json.RawMessage("{}")
		}
		return model.Part{Type: model.PartToolCall, ToolCall: call}, ""
	case p.ToolResponse != nil:
		return toToolResult(p)
	default:
		return out, "must have text, media, reasoning, toolRequest or toolResponse"
	}
}

// toToolResult is the reverse of fromToolResult.
func toToolResult(p *wire.Part) (out model.Part, problem string) {
	r := p.ToolResponse
	result := &model.ToolResult{CallID: r.Ref, Name: r.Name, IsError: string(p.Metadata[metaError]) == "true"}
	text := string(r.Output)
	var plain string
	if json.Unmarshal(r.Output, &plain) == nil {
		text = plain
	}
	result.Content = append(result.Content, model.Text(text))
	for i := range r.Content {
		part, problem := toModelPart(&r.Content[i])
		if problem != "" {
			return out, fmt.Sprintf("has toolResponse.content[%d], which %s", i, problem)
		}
		result.Content = append(result.Content, part)
	}
	return model.Part{Type: model.PartToolResult, ToolResult: result}, ""
}
