package openai

import (
	"strings"

	"github.com/agentruntime/agentruntime/model"
	oai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// responsesDialect is the Responses API, with the kind of reasoning summary to
// ask for, if any.
func responsesDialect(summary string) dialect {
	return dialect{
		path: "responses",
		encode: func(req *model.Request, c concessions) ([]byte, error) {
			return encodeResponses(req, c, summary)
		},
		declare: func(d declaration) any {
			return struct {
				Type string `json:"type"`
				declaration
			}{"function", d}
		},
		translate: func(req *model.Request) translator { return newResponsesStream(req) },
	}
}

// encodeResponses returns the body of a request. Nothing is stored at the
// vendor: the conversation travels with each request, reasoning included.
func encodeResponses(req *model.Request, c concessions, summary string) ([]byte, error) {
	w := inputWriter{forgetReasoning: c.forgetReasoning}
	for i := range req.Messages {
		w.message(&req.Messages[i])
	}
	p := responses.ResponseNewParams{
		Model: req.Model,
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: w.items},
		Store: oai.Bool(false),
	}
	if !c.plainReasoning {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if summary != "" && !c.noSummary {
		p.Reasoning.Summary = shared.ReasoningSummary(summary)
	}
	p.Reasoning.Effort = c.effort(req)
	if req.Temperature != nil {
		p.Temperature = oai.Float(*req.Temperature)
	}
	if req.TopP != nil {
		p.TopP = oai.Float(*req.TopP)
	}
	if req.MaxOutputTokens > 0 {
		p.MaxOutputTokens = oai.Int(int64(req.MaxOutputTokens))
	}
	if req.SessionID != "" {
		p.PromptCacheKey = oai.String(cacheKey(req.SessionID))
	}
	return encodeParams(p)
}

// inputWriter writes a conversation as input items. A message of ours may
// become several: the API keeps text, reasoning, calls and results apart.
type inputWriter struct {
	items           responses.ResponseInputParam
	forgetReasoning bool

	role    model.Role
	content responses.ResponseInputMessageContentListParam
	// reasoning waits for what it led to: the API refuses reasoning that
	// nothing follows, as an answer that was cut off leaves it behind.
	reasoning *model.Reasoning
}

func (w *inputWriter) message(m *model.Message) {
	w.role = m.Role
	for i := range m.Parts {
		w.part(&m.Parts[i])
	}
	w.flush()
	w.reasoning = nil
}

func (w *inputWriter) part(p *model.Part) {
	switch p.Type {
	case model.PartText:
		if p.Text != "" {
			w.content = append(w.content, responses.ResponseInputContentUnionParam{
				OfInputText: &responses.ResponseInputTextParam{Text: p.Text},
			})
		}
	case model.PartImage, model.PartFile:
		if p.Blob != nil && w.role == model.RoleUser {
			w.content = append(w.content, blobContent(p))
		}
	case model.PartReasoning:
		w.flush()
		w.reasoning = p.Reasoning
	case model.PartToolCall:
		if p.ToolCall != nil {
			w.flush()
			w.thought()
			w.items = append(w.items, responses.ResponseInputItemParamOfFunctionCall(
				arguments(p.ToolCall), p.ToolCall.ID, p.ToolCall.Name))
		}
	case model.PartToolResult:
		if p.ToolResult != nil {
			w.flush()
			w.items = append(w.items, resultItem(p.ToolResult))
		}
	}
}

// flush writes the content gathered so far as one message.
func (w *inputWriter) flush() {
	if len(w.content) == 0 {
		return
	}
	role := responses.EasyInputMessageRole(w.role)
	switch {
	case w.role == model.RoleAssistant:
		w.thought()
		w.items = append(w.items, responses.ResponseInputItemParamOfMessage(contentText(w.content), role))
	case len(w.content) == 1 && w.content[0].OfInputText != nil:
		w.items = append(w.items, responses.ResponseInputItemParamOfMessage(w.content[0].OfInputText.Text, role))
	default:
		w.items = append(w.items, responses.ResponseInputItemParamOfMessage(w.content, role))
	}
	w.content = nil
}

// contentText returns the text of an assistant's message, which has no other
// content.
func contentText(content responses.ResponseInputMessageContentListParam) string {
	if len(content) == 1 {
		return content[0].OfInputText.Text
	}
	var text strings.Builder
	for i := range content {
		text.WriteString(content[i].OfInputText.Text)
	}
	return text.String()
}

// thought writes the reasoning that led to the item about to be written.
// Without the encrypted form and the vendor's id it means nothing to the
// vendor: it is then another vendor's, or was never asked for.
func (w *inputWriter) thought() {
	r := w.reasoning
	w.reasoning = nil
	if r == nil || r.Encrypted == "" || r.ID == "" || w.forgetReasoning {
		return
	}
	item := responses.ResponseReasoningItemParam{
		ID:               r.ID,
		Summary:          []responses.ResponseReasoningItemSummaryParam{},
		EncryptedContent: oai.String(r.Encrypted),
	}
	if r.Text != "" {
		item.Summary = append(item.Summary, responses.ResponseReasoningItemSummaryParam{Text: r.Text})
	}
	w.items = append(w.items, responses.ResponseInputItemUnionParam{OfReasoning: &item})
}

func blobContent(p *model.Part) responses.ResponseInputContentUnionParam {
	if p.Type == model.PartImage {
		return responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
			Detail:   responses.ResponseInputImageDetailAuto,
			ImageURL: oai.String(reference(p.Blob)),
		}}
	}
	file := &responses.ResponseInputFileParam{}
	if len(p.Blob.Data) > 0 {
		file.FileData, file.Filename = oai.String(reference(p.Blob)), oai.String(fileName(p.Blob))
	} else {
		file.FileURL = oai.String(p.Blob.URI)
	}
	return responses.ResponseInputContentUnionParam{OfInputFile: file}
}

// resultItem writes the result of a call: as text, unless it holds images or
// files.
func resultItem(r *model.ToolResult) responses.ResponseInputItemUnionParam {
	out := &responses.ResponseInputItemFunctionCallOutputParam{CallID: oai.String(r.CallID)}
	text := markError(r, model.PartsText(r.Content))
	if list := resultBlobs(r); len(list) > 0 {
		if text != "" {
			list = append(responses.ResponseFunctionCallOutputItemListParam{{
				OfInputText: &responses.ResponseInputTextContentParam{Text: text},
			}}, list...)
		}
		out.Output.OfResponseFunctionCallOutputItemArray = list
	} else {
		out.Output.OfString = oai.String(text)
	}
	return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: out}
}

func resultBlobs(r *model.ToolResult) responses.ResponseFunctionCallOutputItemListParam {
	var list responses.ResponseFunctionCallOutputItemListParam
	for i := range r.Content {
		p := &r.Content[i]
		if p.Blob == nil {
			continue
		}
		var item responses.ResponseFunctionCallOutputItemUnionParam
		switch {
		case p.Type == model.PartImage:
			item.OfInputImage = &responses.ResponseInputImageContentParam{ImageURL: oai.String(reference(p.Blob))}
		case len(p.Blob.Data) > 0:
			item.OfInputFile = &responses.ResponseInputFileContentParam{
				FileData: oai.String(reference(p.Blob)), Filename: oai.String(fileName(p.Blob)),
			}
		default:
			item.OfInputFile = &responses.ResponseInputFileContentParam{FileURL: oai.String(p.Blob.URI)}
		}
		list = append(list, item)
	}
	return list
}

// encodeParams encodes the parameters of a request, as a JSON object that is
// not empty.
func encodeParams(p interface{ MarshalJSON() ([]byte, error) }) ([]byte, error) {
	body, err := p.MarshalJSON()
	if err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: "the request cannot be encoded", Err: err}
	}
	return body, nil
}
