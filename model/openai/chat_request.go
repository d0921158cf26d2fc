package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// chatDialect is the Chat Completions API.
func chatDialect() dialect {
	return dialect{
		path:      "chat/completions",
		vendorIDs: chatIDs,
		encode:    encodeChat,
		declare: func(d declaration) any {
			return struct {
				Type     string      `json:"type"`
				Function declaration `json:"function"`
			}{"function", d}
		},
		named: func(tool string) any {
			type function struct {
				Name string `json:"name"`
			}
			return struct {
				Type     string   `json:"type"`
				Function function `json:"function"`
			}{"function", function{tool}}
		},
		output: "response_format",
		describe: func(form outputForm, _ string) any {
			return struct {
				Type       string     `json:"type"`
				JSONSchema outputForm `json:"json_schema"`
			}{"json_schema", form}
		},
		translate: func(req *model.Request, provider string) vendorhttp.Translator { return newChatStream(req, provider) },
	}
}

// chatRequest is the body of a request, without the appended parts. The SDK's types would
// validate and compact a conversation once per nesting level.
type chatRequest struct {
	Model               string            `json:"model"`
	Messages            []chatMessage     `json:"messages"`
	StreamOptions       chatStreamOptions `json:"stream_options"`
	Temperature         *float64          `json:"temperature,omitempty"`
	TopP                *float64          `json:"top_p,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     effortLevel       `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string            `json:"prompt_cache_key,omitempty"`
	Seed                *int              `json:"seed,omitempty"`
	Stop                []string          `json:"stop,omitempty"`
	ServiceTier         string            `json:"service_tier,omitempty"`
	Verbosity           string            `json:"verbosity,omitempty"`
}

// chatBody has all fields that requests may have.
type chatBody struct {
	chatRequest

	Stream         bool `json:"stream"`
	ResponseFormat struct {
		Type       string     `json:"type"`
		JSONSchema outputForm `json:"json_schema"`
	} `json:"response_format"`
	Tools []struct {
		Type     string      `json:"type"`
		Function declaration `json:"function"`
	} `json:"tools"`
	ToolChoice any `json:"tool_choice"`
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// The fields of servers that require an answer's reasoning to be returned.
const (
	reasoningContent = "reasoning_content"
	reasoningField   = "reasoning"
	reasoningText    = "reasoning_text" // of Copilot
	reasoningDetails = "reasoning_details"
)

type chatMessage struct {
	Role model.Role `json:"role"`
	// Content is a string, or the parts of a user's message; null for an answer that only calls
	// tools. Strict servers require the field.
	Content          any     `json:"content"`
	ReasoningContent *string `json:"reasoning_content,omitempty"`
	Reasoning        string  `json:"reasoning,omitempty"`
	ReasoningText    string  `json:"reasoning_text,omitempty"`
	messageFields

	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	Type     string       `json:"type"`
	ID       string       `json:"id"`
	Function chatFunction `json:"function"`
	callFields
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// chatPart is a part of a user's message; type determines which field is set.
type chatPart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitempty"`
	ImageURL *chatImage `json:"image_url,omitempty"`
	Audio    *chatAudio `json:"input_audio,omitempty"`
	File     *chatFile  `json:"file,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type chatFile struct {
	Data string `json:"file_data"`
	Name string `json:"filename"`
}

// encodeChat returns the body of a request.
func encodeChat(req *model.Request, c concessions, to peer) ([]byte, error) {
	w := chatWriter{peer: to, messages: make([]chatMessage, 0, len(req.Messages))}
	for i := range req.Messages {
		if err := w.writeMessage(&req.Messages[i]); err != nil {
			return nil, err
		}
	}
	temperature, topP := c.acceptedSampling(req)
	return vendorhttp.EncodeRequest(&chatRequest{
		Model:               req.Model,
		Messages:            w.messages,
		StreamOptions:       chatStreamOptions{IncludeUsage: true},
		Temperature:         temperature,
		TopP:                topP,
		MaxCompletionTokens: c.maxOutput(req),
		ReasoningEffort:     c.reasoningEffort(req),
		PromptCacheKey:      cacheKey(req.SessionID),
		Seed:                req.Seed,
		Stop:                req.Stop,
		ServiceTier:         req.ServiceTier,
		Verbosity:           req.Verbosity,
	})
}

// chatWriter writes a conversation as the messages of the API.
type chatWriter struct {
	peer

	messages []chatMessage
}

func (w *chatWriter) add(m chatMessage) { w.messages = append(w.messages, m) }

// writeMessage writes a message as one or more API messages, because the API has one for each
// result. Reasoning is returned in the field it came in.
func (w *chatWriter) writeMessage(m *model.Message) error {
	switch m.Role {
	case model.RoleSystem:
		if text := m.Text(); text != "" {
			w.add(chatMessage{Role: m.Role, Content: text})
		}
	case model.RoleUser:
		content, err := chatContent(m.Parts)
		switch {
		case err != nil:
			return err
		case len(content) == 1 && content[0].Text != "":
			w.add(chatMessage{Role: m.Role, Content: content[0].Text})
		case len(content) > 0:
			w.add(chatMessage{Role: m.Role, Content: content})
		}
	case model.RoleAssistant:
		w.writeAssistant(m)
	case model.RoleTool:
		for i := range m.Parts {
			if r := m.Parts[i].ToolResult; r != nil {
				w.add(chatMessage{Role: m.Role, Content: chatResult(r), ToolCallID: w.ids.fitID(r.CallID)})
			}
		}
	}
	return nil
}

func (w *chatWriter) writeAssistant(m *model.Message) {
	text, calls := m.Text(), m.ToolCalls()
	if text == "" && len(calls) == 0 {
		return
	}
	text = withTaggedReasoning(text, m.Parts)
	a := chatMessage{Role: m.Role}
	if text != "" || w.needsText {
		a.Content = text
	}
	for i := range m.Parts {
		if r := m.Parts[i].Reasoning; r != nil {
			a.addReasoning(r, w.provider)
		}
	}
	if len(calls) > 0 {
		a.ToolCalls = make([]chatCall, 0, len(calls))
	}
	for _, c := range calls {
		a.ToolCalls = append(a.ToolCalls, chatCall{
			Type: "function", ID: w.ids.fitID(c.ID), callFields: fieldsOfCall(c, w.provider),
			Function: chatFunction{Name: c.Name, Arguments: callArguments(c)},
		})
	}
	w.add(a)
}

// withTaggedReasoning returns the text of an answer, preceded by the tagged reasoning that came
// before it. MiniMax requires it back; the templates of other models remove it.
func withTaggedReasoning(text string, parts []model.Part) string {
	var tagged string
	for i := range parts {
		if r := parts[i].Reasoning; r != nil && r.Field != "" {
			tagged += vendorhttp.TaggedReasoning(r)
		}
	}
	if tagged == "" || text == "" {
		return tagged + text
	}
	return tagged + "\n\n" + text
}

// addReasoning adds reasoning to an assistant's message.
func (a *chatMessage) addReasoning(r *model.Reasoning, provider string) {
	switch {
	case r.Field == reasoningContent && a.ReasoningContent == nil:
		a.ReasoningContent = &r.Text
	case r.Field == reasoningContent:
		joined := *a.ReasoningContent + r.Text
		a.ReasoningContent = &joined
	case r.Field == reasoningField:
		a.Reasoning += r.Text
	case r.Field == reasoningText:
		a.ReasoningText += r.Text
	}
	if r.Encrypted == "" {
		return
	}
	back := fieldsOfReasoning(r, provider)
	if back.EmptyReasoning && a.ReasoningContent == nil {
		a.ReasoningContent = new(string)
	}
	for _, f := range []struct{ to, from *json.RawMessage }{
		{&a.ReasoningDetails, &back.ReasoningDetails}, {&a.ProviderSpecificFields, &back.ProviderSpecificFields}, {&a.ThinkingBlocks, &back.ThinkingBlocks},
		{&a.ReasoningOpaque, &back.ReasoningOpaque},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
}

func chatContent(parts []model.Part) ([]chatPart, error) {
	var content []chatPart
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == model.PartText && p.Text != "":
			content = append(content, chatPart{Type: "text", Text: p.Text})
		case p.Type == model.PartImage && p.Blob != nil:
			content = append(content, chatPart{Type: "image_url", ImageURL: &chatImage{URL: blobReference(p.Blob)}})
		case p.Type == model.PartFile && p.Blob != nil:
			file, err := filePart(p.Blob)
			if err != nil {
				return nil, err
			}
			content = append(content, file)
		}
	}
	return content, nil
}

// filePart writes a file: a recording as audio, anything else unchanged.
func filePart(b *model.Blob) (chatPart, error) {
	if len(b.Data) == 0 {
		return chatPart{}, vendorhttp.InvalidRequest("the chat completions API does not accept files by URL; use api: responses, or send the content", nil)
	}
	if format := audioFormat(vendorhttp.MediaType(b)); format != "" {
		return chatPart{Type: "input_audio", Audio: &chatAudio{Data: base64.StdEncoding.EncodeToString(b.Data), Format: format}}, nil
	}
	return chatPart{Type: "file", File: &chatFile{Data: blobReference(b), Name: fileName(b)}}, nil
}

// audioFormat returns the API's name for an audio type; empty if it has none.
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

// chatResult returns the result of a call as text, one paragraph for each part. The API does not
// support images and files here: a note replaces them.
func chatResult(r *model.ToolResult) string {
	var b strings.Builder
	for i := range r.Content {
		text := r.Content[i].Text
		if r.Content[i].Blob != nil {
			text = vendorhttp.OmittedNote(&r.Content[i])
		}
		if text != "" && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	return markError(r, b.String())
}
