package openai

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// responsesDialect describes the Responses API, with the kind of reasoning summary to request, if
// any.
func responsesDialect(summary string) dialect {
	return dialect{
		path:      "responses",
		vendorIDs: responsesIDs,
		encode: func(req *model.Request, c concessions, to peer) ([]byte, error) {
			return encodeResponses(req, c, to, summary)
		},
		declare: func(d declaration) any {
			return struct {
				Type string `json:"type"`
				declaration
			}{"function", d}
		},
		named: func(tool string) any {
			return struct {
				Type string `json:"type"`
				Name string `json:"name"`
			}{"function", tool}
		},
		output: "text",
		describe: func(form outputForm, verbosity string) any {
			type format struct {
				Type string `json:"type"`
				outputForm
			}
			return struct {
				Format    format `json:"format"`
				Verbosity string `json:"verbosity,omitempty"`
			}{format{"json_schema", form}, verbosity}
		},
		translate: func(req *model.Request, _ string) vendorhttp.Translator { return newResponsesStream(req) },
	}
}

// responsesRequest is the body of a request, without the appended parts. It replaces the SDK's
// types for the same reason as chatRequest.
type responsesRequest struct {
	Model           string              `json:"model"`
	Input           []inputItem         `json:"input"`
	Store           bool                `json:"store"`
	Include         []string            `json:"include,omitempty"`
	Reasoning       *responsesReasoning `json:"reasoning,omitempty"`
	Temperature     *float64            `json:"temperature,omitempty"`
	TopP            *float64            `json:"top_p,omitempty"`
	MaxOutputTokens int                 `json:"max_output_tokens,omitempty"`
	PromptCacheKey  string              `json:"prompt_cache_key,omitempty"`
	ServiceTier     string              `json:"service_tier,omitempty"`
	Text            *responsesText      `json:"text,omitempty"`
}

// responsesBody has all fields that requests may contain. The fields of text are not checked.
type responsesBody struct {
	responsesRequest

	Stream bool `json:"stream"`
	Text   any  `json:"text"`
	Tools  []struct {
		Type string `json:"type"`
		declaration
	} `json:"tools"`
	ToolChoice any `json:"tool_choice"`
}

// responsesText is the text field of a request without an output format.
type responsesText struct {
	Verbosity string `json:"verbosity"`
}

type responsesReasoning struct {
	Effort  effortLevel `json:"effort,omitempty"`
	Summary string      `json:"summary,omitempty"`
}

// inputItem is an entry of a conversation: a message, which has no type, reasoning, a call or its
// output.
type inputItem struct {
	Type string     `json:"type,omitempty"`
	Role model.Role `json:"role,omitempty"`
	// Content and Output are a text, or parts.
	Content   any           `json:"content,omitempty"`
	Output    any           `json:"output,omitempty"`
	CallID    string        `json:"call_id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Arguments string        `json:"arguments,omitempty"`
	ID        string        `json:"id,omitempty"`
	Summary   []summaryText `json:"summary,omitzero"`
	Encrypted string        `json:"encrypted_content,omitempty"`
}

type summaryText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// inputContent is a part of a message or of a call's output; type determines which
// fields are set.
type inputContent struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Detail   string `json:"detail,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
	FileData string `json:"file_data,omitempty"`
	FileName string `json:"filename,omitempty"`
}

// encodeResponses returns the body of a request. The vendor stores nothing: each request carries
// the conversation, including reasoning.
func encodeResponses(req *model.Request, c concessions, to peer, summary string) ([]byte, error) {
	w := inputWriter{items: make([]inputItem, 0, len(req.Messages)), forgetReasoning: c.forgetReasoning, ids: to.ids}
	for i := range req.Messages {
		w.writeMessage(&req.Messages[i])
	}
	temperature, topP := c.acceptedSampling(req)
	body := &responsesRequest{
		Model: req.Model, Input: w.items, Temperature: temperature, TopP: topP,
		MaxOutputTokens: c.maxOutput(req), PromptCacheKey: cacheKey(req.SessionID), ServiceTier: req.ServiceTier,
	}
	if req.Verbosity != "" && (req.Output == nil || c.noOutputForm) {
		body.Text = &responsesText{req.Verbosity}
	}
	if !c.plainReasoning {
		body.Include = []string{"reasoning.encrypted_content"}
	}
	reasoning := responsesReasoning{Effort: c.reasoningEffort(req)}
	if !c.noSummary {
		reasoning.Summary = summary
	}
	if reasoning != (responsesReasoning{}) {
		body.Reasoning = &reasoning
	}
	return vendorhttp.EncodeRequest(body)
}

// inputWriter writes a conversation as input items. One of our messages may become several: the API
// separates text, reasoning, calls and results.
type inputWriter struct {
	items           []inputItem
	forgetReasoning bool
	ids             callIDs

	role    model.Role
	content []inputContent
	// reasoning is held until the next item: the API rejects reasoning without a following item, as
	// left by a truncated answer.
	reasoning *model.Reasoning
}

func (w *inputWriter) writeMessage(m *model.Message) {
	w.role = m.Role
	for i := range m.Parts {
		w.writePart(&m.Parts[i])
	}
	w.flush()
	w.reasoning = nil
}

func (w *inputWriter) writePart(p *model.Part) {
	switch p.Type {
	case model.PartText:
		if p.Text != "" {
			w.content = append(w.content, inputContent{Type: "input_text", Text: p.Text})
		}
	case model.PartImage, model.PartFile:
		if p.Blob != nil && w.role == model.RoleUser {
			w.content = append(w.content, blobContent(p))
		}
	case model.PartReasoning:
		w.flush()
		w.reasoning = p.Reasoning
	case model.PartToolCall:
		if c := p.ToolCall; c != nil {
			w.flush()
			w.writeReasoning()
			w.items = append(w.items, inputItem{Type: "function_call", CallID: w.ids.fitID(c.ID), Name: c.Name, Arguments: callArguments(c)})
		}
	case model.PartToolResult:
		if p.ToolResult != nil {
			w.flush()
			w.items = append(w.items, w.resultItem(p.ToolResult))
		}
	}
}

// flush writes the collected content as one message.
func (w *inputWriter) flush() {
	if len(w.content) == 0 {
		return
	}
	item := inputItem{Role: w.role}
	switch {
	case w.role == model.RoleAssistant:
		w.writeReasoning()
		item.Content = contentText(w.content)
	case len(w.content) == 1 && w.content[0].Text != "":
		item.Content = w.content[0].Text
	default:
		item.Content = slices.Clone(w.content)
	}
	w.items = append(w.items, item)
	w.content = w.content[:0]
}

// contentText returns the text of an assistant's message, which has no other
// content.
func contentText(content []inputContent) string {
	if len(content) == 1 {
		return content[0].Text
	}
	var text strings.Builder
	for i := range content {
		text.WriteString(content[i].Text)
	}
	return text.String()
}

// writeReasoning writes the reasoning before its item. Without the encrypted form and the vendor's
// id, it is useless to the vendor: it comes from another vendor, or was never requested.
func (w *inputWriter) writeReasoning() {
	r := w.reasoning
	w.reasoning = nil
	if r == nil || r.Encrypted == "" || r.ID == "" || w.forgetReasoning {
		return
	}
	item := inputItem{Type: "reasoning", ID: r.ID, Summary: []summaryText{}, Encrypted: r.Encrypted}
	if r.Text != "" {
		item.Summary = append(item.Summary, summaryText{Type: "summary_text", Text: r.Text})
	}
	w.items = append(w.items, item)
}

// blobContent writes an image or a file.
func blobContent(p *model.Part) inputContent {
	switch {
	case p.Type == model.PartImage:
		return inputContent{Type: "input_image", Detail: "auto", ImageURL: blobReference(p.Blob)}
	case len(p.Blob.Data) > 0:
		return inputContent{Type: "input_file", FileData: blobReference(p.Blob), FileName: fileName(p.Blob)}
	default:
		return inputContent{Type: "input_file", FileURL: p.Blob.URI}
	}
}

// resultItem writes the result of a call: as text, or as a list of its parts if the API
// reads an image or file among them.
func (w *inputWriter) resultItem(r *model.ToolResult) inputItem {
	item := inputItem{Type: "function_call_output", CallID: w.ids.fitID(r.CallID)}
	if !slices.ContainsFunc(r.Content, isReadableBlob) {
		item.Output = chatResult(r)
		return item
	}
	var list []inputContent
	if r.IsError {
		list = append(list, inputContent{Type: "input_text", Text: markError(r, "")})
	}
	for i := range r.Content {
		switch p := &r.Content[i]; {
		case isReadableBlob(*p):
			list = append(list, blobContent(p))
		case p.Blob != nil:
			list = append(list, inputContent{Type: "input_text", Text: vendorhttp.OmittedNote(p)})
		case p.Text != "":
			list = append(list, inputContent{Type: "input_text", Text: p.Text})
		}
	}
	item.Output = list
	return item
}

// isReadableBlob reports whether a part is an image or file that the API reads.
func isReadableBlob(p model.Part) bool {
	if p.Blob == nil || len(p.Blob.Data) == 0 {
		return p.Blob != nil
	}
	switch media := vendorhttp.MediaType(p.Blob); {
	case vendorhttp.IsImage(&p):
		return media == "image/png" || media == "image/jpeg" || media == "image/gif" || media == "image/webp"
	case strings.HasPrefix(media, "text/"), strings.HasPrefix(media, "application/vnd."):
		return true
	default:
		return media == "application/pdf" || media == "application/json" || media == "application/msword" || media == "application/rtf"
	}
}
