package openai

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	oai "github.com/openai/openai-go/v3"
)

// chatDialect is the Chat Completions API.
func chatDialect() dialect {
	return dialect{
		path:   "chat/completions",
		encode: encodeChat,
		declare: func(d declaration) any {
			return struct {
				Type     string      `json:"type"`
				Function declaration `json:"function"`
			}{"function", d}
		},
		translate: func(req *model.Request) translator { return newChatStream(req) },
	}
}

// encodeChat returns the body of a request.
func encodeChat(req *model.Request, c concessions) ([]byte, error) {
	messages := make([]oai.ChatCompletionMessageParamUnion, 0, len(req.Messages))
	for i := range req.Messages {
		var err error
		if messages, err = appendChat(messages, &req.Messages[i]); err != nil {
			return nil, err
		}
	}
	p := oai.ChatCompletionNewParams{
		Model:           req.Model,
		Messages:        messages,
		StreamOptions:   oai.ChatCompletionStreamOptionsParam{IncludeUsage: oai.Bool(true)},
		ReasoningEffort: c.effort(req),
	}
	if req.Temperature != nil {
		p.Temperature = oai.Float(*req.Temperature)
	}
	if req.TopP != nil {
		p.TopP = oai.Float(*req.TopP)
	}
	if req.MaxOutputTokens > 0 {
		p.MaxCompletionTokens = oai.Int(int64(req.MaxOutputTokens))
	}
	if req.SessionID != "" {
		p.PromptCacheKey = oai.String(cacheKey(req.SessionID))
	}
	return encodeParams(p)
}

// appendChat appends a message of ours, as the messages it becomes: the API
// has one for each result. Reasoning is left out; the API has no place for it.
func appendChat(list []oai.ChatCompletionMessageParamUnion, m *model.Message) ([]oai.ChatCompletionMessageParamUnion, error) {
	switch m.Role {
	case model.RoleSystem:
		if text := m.Text(); text != "" {
			list = append(list, oai.SystemMessage(text))
		}
	case model.RoleUser:
		content, err := chatContent(m.Parts)
		if err != nil {
			return nil, err
		}
		switch {
		case len(content) == 1 && content[0].OfText != nil:
			list = append(list, oai.UserMessage(content[0].OfText.Text))
		case len(content) > 0:
			list = append(list, oai.UserMessage(content))
		}
	case model.RoleAssistant:
		list = appendAssistant(list, m)
	case model.RoleTool:
		for i := range m.Parts {
			if r := m.Parts[i].ToolResult; r != nil {
				list = append(list, oai.ToolMessage(chatResult(r), r.CallID))
			}
		}
	}
	return list, nil
}

func appendAssistant(list []oai.ChatCompletionMessageParamUnion, m *model.Message) []oai.ChatCompletionMessageParamUnion {
	text, calls := m.Text(), m.ToolCalls()
	if text == "" && len(calls) == 0 {
		return list
	}
	a := &oai.ChatCompletionAssistantMessageParam{}
	if text != "" {
		a.Content.OfString = oai.String(text)
	}
	for _, c := range calls {
		a.ToolCalls = append(a.ToolCalls, oai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &oai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID,
				Function: oai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: c.Name, Arguments: arguments(c),
				},
			},
		})
	}
	return append(list, oai.ChatCompletionMessageParamUnion{OfAssistant: a})
}

func chatContent(parts []model.Part) ([]oai.ChatCompletionContentPartUnionParam, error) {
	var content []oai.ChatCompletionContentPartUnionParam
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == model.PartText && p.Text != "":
			content = append(content, oai.TextContentPart(p.Text))
		case p.Type == model.PartImage && p.Blob != nil:
			content = append(content, oai.ImageContentPart(oai.ChatCompletionContentPartImageImageURLParam{URL: reference(p.Blob)}))
		case p.Type == model.PartFile && p.Blob != nil:
			file, err := chatFile(p.Blob)
			if err != nil {
				return nil, err
			}
			content = append(content, file)
		}
	}
	return content, nil
}

// chatFile writes a file: a recording as audio, anything else as it is.
func chatFile(b *model.Blob) (oai.ChatCompletionContentPartUnionParam, error) {
	if len(b.Data) == 0 {
		return oai.ChatCompletionContentPartUnionParam{}, &model.Error{
			Class:   model.InvalidRequest,
			Message: "the chat completions API takes no file by its URL; use api: responses, or send the content",
		}
	}
	if format := audioFormat(mediaType(b)); format != "" {
		return oai.InputAudioContentPart(oai.ChatCompletionContentPartInputAudioInputAudioParam{
			Data: base64.StdEncoding.EncodeToString(b.Data), Format: format,
		}), nil
	}
	return oai.FileContentPart(oai.ChatCompletionContentPartFileFileParam{
		FileData: oai.String(reference(b)), Filename: oai.String(fileName(b)),
	}), nil
}

// audioFormat returns the API's name for a kind of recording, empty when it
// knows none.
func audioFormat(media string) string {
	switch media {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	default:
		return ""
	}
}

// chatResult returns the result of a call as text. What is no text has no
// place in the API; the model is told that there was something.
func chatResult(r *model.ToolResult) string {
	var b strings.Builder
	b.WriteString(model.PartsText(r.Content))
	for i := range r.Content {
		if blob := r.Content[i].Blob; blob != nil {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "[%s of type %s, which cannot be shown]", r.Content[i].Type, mediaType(blob))
		}
	}
	return markError(r, b.String())
}
