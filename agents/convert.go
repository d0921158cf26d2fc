package agents

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// toModelMessage returns the message of an input.
func toModelMessage(in *wire.Message) (model.Message, *wire.Error) {
	out := model.Message{Role: model.RoleUser}
	if in.Role != "" && in.Role != wire.RoleUser {
		return out, newError(wire.StatusInvalidArgument, "data.message.role is %q; it must be user", in.Role)
	}
	for i := range in.Content {
		part := &in.Content[i]
		switch {
		case part.Text != nil:
			out.Parts = append(out.Parts, model.Text(*part.Text))
		case part.Media != nil:
			blob, problem := toBlob(part.Media)
			if problem != "" {
				return out, newError(wire.StatusInvalidArgument, "data.message.content[%d].media.url %s", i, problem)
			}
			kind := model.PartFile
			if strings.HasPrefix(blob.MediaType, "image/") {
				kind = model.PartImage
			}
			out.Parts = append(out.Parts, model.Part{Type: kind, Blob: blob})
		default:
			return out, newError(wire.StatusInvalidArgument, "data.message.content[%d] must have text or media", i)
		}
	}
	if len(out.Parts) == 0 {
		return out, newError(wire.StatusInvalidArgument, "data.message.content is empty")
	}
	return out, nil
}

// toBlob returns a file, or the problem of its address.
func toBlob(media *wire.Media) (*model.Blob, string) {
	encoded, isData := strings.CutPrefix(media.URL, "data:")
	if !isData {
		return &model.Blob{MediaType: media.ContentType, URI: media.URL}, ""
	}
	mediaType, content, ok := strings.Cut(encoded, ";base64,")
	if !ok {
		return nil, "is a data URL without ;base64,"
	}
	data, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return nil, "is not valid base64"
	}
	if media.ContentType != "" {
		mediaType = media.ContentType
	}
	return &model.Blob{MediaType: mediaType, Data: data}, ""
}

// fromModelMessages returns a conversation as clients see it.
func fromModelMessages(kept []model.Message) []wire.Message {
	roles := map[model.Role]wire.Role{
		model.RoleSystem: wire.RoleSystem, model.RoleUser: wire.RoleUser, model.RoleAssistant: wire.RoleModel, model.RoleTool: wire.RoleTool,
	}
	list := make([]wire.Message, len(kept))
	for i := range kept {
		list[i].Role = roles[kept[i].Role]
		for j := range kept[i].Parts {
			if part, ok := fromModelPart(&kept[i].Parts[j]); ok {
				list[i].Content = append(list[i].Content, part)
			}
		}
	}
	return list
}

// fromModelPart returns a part as clients see it; false for one that they do not see.
func fromModelPart(p *model.Part) (wire.Part, bool) {
	switch {
	case p.ToolCall != nil:
		input, err := json.Marshal(p.ToolCall)
		var call struct{ Arguments json.RawMessage }
		if err != nil || json.Unmarshal(input, &call) != nil {
			return wire.Part{}, false
		}
		return wire.Part{ToolRequest: &wire.ToolRequest{Name: p.ToolCall.Name, Ref: p.ToolCall.ID, Input: call.Arguments}}, true
	case p.ToolResult != nil:
		var text strings.Builder
		for i := range p.ToolResult.Content {
			text.WriteString(p.ToolResult.Content[i].Text)
		}
		return wire.Part{ToolResponse: &wire.ToolResponse{Name: p.ToolResult.Name, Ref: p.ToolResult.CallID, Output: encodeText(text.String())}}, true
	case p.Blob != nil:
		url := p.Blob.URI
		if url == "" {
			url = "data:" + p.Blob.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Blob.Data)
		}
		return wire.Part{Media: &wire.Media{ContentType: p.Blob.MediaType, URL: url}}, true
	case p.Reasoning != nil:
		return wire.Part{Reasoning: &p.Reasoning.Text}, p.Reasoning.Text != ""
	default:
		return wire.NewTextPart(p.Text), true
	}
}

// encodeText returns a text as JSON: as it is where it is JSON already.
func encodeText(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	encoded, _ := json.Marshal(text) // a string
	return encoded
}

// finishReason returns why the work of a turn ended; empty while it runs.
func finishReason(t *service.Turn) wire.FinishReason {
	switch t.Status {
	case service.Waiting:
		return wire.FinishInterrupted
	case service.Failed:
		return wire.FinishFailed
	case service.Canceled:
		return wire.FinishAborted
	case service.Succeeded:
	default:
		return ""
	}
	if t.Outcome == nil {
		return wire.FinishUnknown
	}
	switch t.Outcome.FinishReason {
	case model.FinishStop, "":
		return wire.FinishStop
	case model.FinishMaxTokens:
		return wire.FinishLength
	case model.FinishContentFilter:
		return wire.FinishBlocked
	default:
		return wire.FinishOther
	}
}

// outcomeError returns why a turn failed; nil if it did not.
func outcomeError(t *service.Turn) *wire.Error {
	if t.Status != service.Failed {
		return nil
	}
	if t.Outcome == nil {
		return turnError(&event.Termination{Type: event.Failed})
	}
	return turnError(&t.Outcome.Termination)
}

// toOutput returns the output of a turn that has ended or is interrupted.
func (a *stored) toOutput(ctx context.Context, turn *service.Turn, sessionID string) (*wire.Output, error) {
	out := &wire.Output{SessionID: sessionID, SnapshotID: turn.ID, FinishReason: finishReason(turn), Error: outcomeError(turn)}
	switch turn.Status {
	case service.Waiting:
		open, err := a.openInteractions(ctx, turn.ID)
		if err != nil {
			return nil, err
		}
		out.Message = &wire.Message{Role: wire.RoleModel}
		for _, asked := range open {
			out.Message.Content = append(out.Message.Content, interruptPart(&asked.Request))
		}
	case service.Succeeded:
		out.Message = &wire.Message{Role: wire.RoleModel}
		if turn.Outcome != nil {
			out.Message.Content = []wire.Part{wire.NewTextPart(turn.Outcome.Response)}
		}
	default:
		var err error
		if out.SnapshotID, err = a.lastGood(ctx, turn); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// lastGood returns the wire id of the snapshot that a turn continued from.
func (a *stored) lastGood(ctx context.Context, t *service.Turn) (string, error) {
	return a.turnOfSnapshot(ctx, t.ParentSnapshotID)
}

// interruptPart returns the tool request that interrupted a turn, with the question in
// its metadata.
func interruptPart(asked *interaction.Request) wire.Part {
	interrupt, _ := json.Marshal(struct { // strings and JSON that was checked
		Action         string          `json:"action,omitempty"`
		Message        string          `json:"message,omitempty"`
		Parameters     json.RawMessage `json:"parameters,omitempty"`
		ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	}{asked.Action, asked.Message, asked.Parameters, asked.ResponseSchema})
	return wire.Part{
		ToolRequest: &wire.ToolRequest{Name: asked.Tool, Ref: asked.CallID, Input: asked.Arguments},
		Metadata:    map[string]json.RawMessage{"interrupt": interrupt},
	}
}
