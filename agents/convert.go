package agents

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// toModelMessage returns the message of an input.
func toModelMessage(in *wire.Message) (model.Message, *wire.Error) {
	out := model.Message{Role: model.RoleUser, Metadata: extrasOf(in)}
	if in.Role != "" && in.Role != wire.RoleUser {
		return out, newError(wire.StatusInvalidArgument, "data.message.role is %q; it must be user", in.Role)
	}
	for i := range in.Content {
		part := &in.Content[i]
		switch {
		case part.Text != nil:
			out.Parts = append(out.Parts, model.Text(*part.Text))
		case part.Media != nil:
			file, problem := toFilePart(part.Media)
			if problem == "" {
				problem = checkAddress(part.Media.URL)
			}
			if problem != "" {
				return out, newError(wire.StatusInvalidArgument, "data.message.content[%d] %s", i, problem)
			}
			out.Parts = append(out.Parts, file)
		default:
			return out, newError(wire.StatusInvalidArgument, "data.message.content[%d] must have text or media", i)
		}
	}
	if len(out.Parts) == 0 {
		return out, newError(wire.StatusInvalidArgument, "data.message.content is empty")
	}
	return out, nil
}

// toFilePart returns a part with a file, or an error text.
func toFilePart(media *wire.Media) (model.Part, string) {
	blob, problem := toBlob(media)
	if problem != "" {
		return model.Part{}, "has a media.url that " + problem
	}
	return model.File(blob), ""
}

// checkAddress returns an error text for the URL of a client's file, or "" for data URLs and
// absolute http and https URLs.
func checkAddress(address string) string {
	if strings.HasPrefix(address, "data:") {
		return "" // toBlob has read it
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "has a media.url that is not an https, http or data URL"
	}
	return ""
}

// toBlob returns a file, or an error text for its URL.
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
			list[i].Content = append(list[i].Content, fromModelPart(&kept[i].Parts[j]))
		}
		addExtras(&kept[i], &list[i])
	}
	return list
}

// fromModelPart returns a part as clients see it.
func fromModelPart(p *model.Part) wire.Part {
	switch {
	case p.ToolCall != nil:
		return wire.Part{ToolRequest: &wire.ToolRequest{Name: p.ToolCall.Name, Ref: p.ToolCall.ID, Input: rawjson.Encode(p.ToolCall.Arguments)}}
	case p.ToolResult != nil:
		return fromToolResult(p.ToolResult)
	case p.Blob != nil:
		url := p.Blob.URI
		if url == "" {
			url = "data:" + p.Blob.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Blob.Data)
		}
		return wire.Part{Media: &wire.Media{ContentType: p.Blob.MediaType, URL: url}}
	case p.Reasoning != nil:
		return fromReasoning(p.Reasoning)
	default:
		return wire.NewTextPart(p.Text)
	}
}

// Metadata keys used for converted parts.
const (
	// metaError marks the result of a failed tool. metaReasoning holds vendor data about reasoning.
	metaError     = "isError"
	metaReasoning = "reasoning"
	// metaInterrupt has the question of an open tool request.
	metaInterrupt = "interrupt"
)

// fromToolResult returns the result of a tool: its text, which may be JSON, and its files.
func fromToolResult(r *model.ToolResult) wire.Part {
	out := wire.Part{ToolResponse: &wire.ToolResponse{Name: r.Name, Ref: r.CallID}}
	var text strings.Builder
	for i := range r.Content {
		if r.Content[i].Blob != nil {
			out.ToolResponse.Content = append(out.ToolResponse.Content, fromModelPart(&r.Content[i]))
		}
		text.WriteString(r.Content[i].Text)
	}
	out.ToolResponse.Output = encodeText(text.String())
	if r.IsError {
		out.Metadata = map[string]json.RawMessage{metaError: json.RawMessage("true")}
	}
	return out
}

// fromReasoning returns the reasoning of a model as a part.
func fromReasoning(r *model.Reasoning) wire.Part {
	out := wire.Part{Reasoning: &r.Text}
	if r.Encrypted != "" || r.ID != "" {
		kept, _ := json.Marshal(model.Reasoning{Encrypted: r.Encrypted, ID: r.ID}) // strings
		out.Metadata = map[string]json.RawMessage{metaReasoning: kept}
	}
	return out
}

// encodeText returns a text as JSON, unchanged if it already is JSON.
func encodeText(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	encoded, _ := json.Marshal(text) // a string
	return encoded
}

// finishReason returns why a turn ended; empty while it runs.
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
	return fromModelReason(t.Outcome.FinishReason)
}

// fromModelReason returns the client-visible reason for an answer's end.
func fromModelReason(reason model.FinishReason) wire.FinishReason {
	switch reason {
	case model.FinishStop, "":
		return wire.FinishStop
	case model.FinishNone:
		return ""
	case model.FinishMaxTokens:
		return wire.FinishLength
	case model.FinishContentFilter:
		return wire.FinishBlocked
	}
	switch own := wire.FinishReason(reason); own {
	case wire.FinishLength, wire.FinishBlocked, wire.FinishInterrupted, wire.FinishUnknown, wire.FinishAborted, wire.FinishFailed:
		return own
	default:
		return wire.FinishOther
	}
}

// toModelReason is the reverse of fromModelReason.
func toModelReason(reason wire.FinishReason) model.FinishReason {
	switch reason {
	case "":
		return model.FinishStop
	case wire.FinishLength:
		return model.FinishMaxTokens
	case wire.FinishBlocked:
		return model.FinishContentFilter
	default:
		return model.FinishReason(reason)
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

// interruptPart returns the tool request that interrupted a turn, with the question in
// its metadata.
func interruptPart(asked *interaction.Request) wire.Part {
	request := &wire.ToolRequest{Name: asked.Tool, Ref: asked.CallID, Input: asked.Arguments}
	if asked.Action == actionInterrupt {
		payload := asked.Parameters
		if len(payload) == 0 {
			payload = json.RawMessage("true")
		}
		return wire.Part{ToolRequest: request, Metadata: map[string]json.RawMessage{metaInterrupt: payload}}
	}
	interrupt, _ := json.Marshal(struct { // strings and validated JSON
		Action         string          `json:"action,omitempty"`
		Message        string          `json:"message,omitempty"`
		Parameters     json.RawMessage `json:"parameters,omitempty"`
		ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	}{asked.Action, asked.Message, asked.Parameters, asked.ResponseSchema})
	return wire.Part{ToolRequest: request, Metadata: map[string]json.RawMessage{metaInterrupt: interrupt}}
}
