package google

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// contentWriter writes a conversation as API contents: user contents, which include call results,
// and model contents.
type contentWriter struct {
	// modern is set for a model that checks signatures and reads images in call results.
	modern   bool
	contents []*contentParam
	system   []*partParam
	// results is the last content if it holds results, because all results for one answer belong in
	// one content.
	results *contentParam
	// names holds the names of the calls by id, for results that lack it.
	names map[string]string
}

func (w *contentWriter) writeMessage(m *model.Message) {
	if m.Role == model.RoleTool {
		w.addResults(m)
		return
	}
	w.results = nil
	switch m.Role {
	case model.RoleSystem:
		w.addSystem(m)
	case model.RoleUser:
		w.addParts(roleUser, userParts(m.Parts))
	case model.RoleAssistant:
		w.addParts(roleModel, w.answerParts(m))
	}
}

func (w *contentWriter) addParts(role string, parts []*partParam) {
	if len(parts) > 0 {
		w.contents = append(w.contents, &contentParam{Parts: parts, Role: role})
	}
}

// addSystem writes instructions. The API accepts them only before the conversation; later ones
// become user content in the same position.
func (w *contentWriter) addSystem(m *model.Message) {
	text := m.Text()
	switch {
	case text == "":
	case len(w.contents) == 0:
		w.system = append(w.system, &partParam{Text: text})
	default:
		w.addParts(roleUser, []*partParam{{Text: text}})
	}
}

func userParts(list []model.Part) []*partParam {
	parts := make([]*partParam, 0, len(list))
	for i := range list {
		p := &list[i]
		switch {
		case p.Type == model.PartText && p.Text != "":
			parts = append(parts, &partParam{Text: p.Text})
		case isBlob(p):
			parts = append(parts, blobPart(p.Blob))
		}
	}
	return parts
}

func isBlob(p *model.Part) bool {
	return (p.Type == model.PartImage || p.Type == model.PartFile) && p.Blob != nil
}

func blobPart(b *model.Blob) *partParam {
	if len(b.Data) > 0 {
		return &partParam{InlineData: &blobParam{MIMEType: vendorhttp.MediaType(b), Data: b.Data}}
	}
	return &partParam{FileData: &fileParam{MIMEType: vendorhttp.MediaType(b), FileURI: b.URI}}
}

// answerParts writes an answer of the model. It omits readable reasoning, because the vendor
// reads only the signatures.
func (w *contentWriter) answerParts(m *model.Message) []*partParam {
	parts := make([]*partParam, 0, len(m.Parts))
	var text *partParam // the text just written
	var forCall []byte  // the signature of the next call
	called := false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == model.PartText && p.Text != "":
			text = &partParam{Text: p.Text}
			parts, forCall = append(parts, text), nil
		case p.Type == model.PartReasoning && p.Reasoning != nil:
			sig, of := parseSignature(p.Reasoning.Encrypted)
			if of == ofText && text != nil {
				text.ThoughtSignature = sig
			} else if of == ofCall {
				forCall = sig
			}
		case p.Type == model.PartToolCall && p.ToolCall != nil:
			if forCall == nil && !called && w.modern {
				forCall = []byte(unsigned)
			}
			parts = append(parts, w.callPart(p.ToolCall, forCall))
			text, forCall, called = nil, nil, true
		}
	}
	return parts
}

func (w *contentWriter) callPart(c *model.ToolCall, sig []byte) *partParam {
	if w.names == nil {
		w.names = make(map[string]string)
	}
	w.names[c.ID] = c.Name
	return &partParam{
		FunctionCall:     &callParam{ID: c.ID, Name: c.Name, Args: callArguments(c.Arguments)},
		ThoughtSignature: sig,
	}
}

// callArguments returns the arguments of a call with their values unchanged, because a float64
// cannot hold every number.
func callArguments(raw json.RawMessage) map[string]json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(rawjson.Object(raw), &fields); err != nil {
		return nil // not reached: it is an object
	}
	return fields
}

// addResults writes the results of the calls of one answer. Content that does not fit in them
// follows as user content.
func (w *contentWriter) addResults(m *model.Message) {
	var shown []*partParam
	for i := range m.Parts {
		r := m.Parts[i].ToolResult
		if r == nil {
			continue
		}
		if w.results == nil {
			w.results = &contentParam{Role: roleUser}
			w.contents = append(w.contents, w.results)
		}
		response := &responseParam{ID: r.CallID, Name: r.Name, Response: resultValue(r)}
		if response.Name == "" {
			response.Name = w.names[r.CallID]
		}
		shown = w.addBlobs(response, r.Content, shown)
		w.results.Parts = append(w.results.Parts, &partParam{FunctionResponse: response})
	}
	if len(shown) > 0 {
		w.addParts(roleUser, shown)
		w.results = nil
	}
}

// resultValue returns the result of a call under a name that tells the model whether the call
// failed.
func resultValue(r *model.ToolResult) map[string]any {
	text := resultText(r)
	if !r.IsError {
		return map[string]any{"output": jsonOrText(text)}
	}
	if text == "" {
		text = "the call failed"
	}
	return map[string]any{"error": text}
}

// resultText returns the texts of a result. If there are several, a mark replaces each image or
// file, because the API has no place for it there.
func resultText(r *model.ToolResult) string {
	texts := 0
	for i := range r.Content {
		if r.Content[i].Type == model.PartText && r.Content[i].Text != "" {
			texts++
		}
	}
	if texts < 2 {
		return r.Text()
	}
	marked, blobs := model.ToolResult{}, 0
	for i := range r.Content {
		p := &r.Content[i]
		if isBlob(p) {
			blobs++
			marked.Content = append(marked.Content, model.Text(fmt.Sprintf("[%s %d]", p.Type, blobs)))
			continue
		}
		marked.Content = append(marked.Content, *p)
	}
	return marked.Text()
}

// jsonOrText returns a text with a JSON object or list as JSON, so that the result has the form
// that the tool's declaration describes.
func jsonOrText(text string) any {
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
		return json.RawMessage(trimmed)
	}
	return text
}

// addBlobs adds the images and files of a result to it or, if the model does not read them there,
// to shown.
func (w *contentWriter) addBlobs(r *responseParam, content []model.Part, shown []*partParam) []*partParam {
	for i := range content {
		if !isBlob(&content[i]) {
			continue
		}
		b := content[i].Blob
		if len(b.Data) > 0 && !isReadable(vendorhttp.MediaType(b)) {
			shown = append(shown, &partParam{Text: vendorhttp.OmittedNote(&content[i])})
			continue
		}
		if !w.modern || len(b.Data) == 0 {
			shown = append(shown, blobPart(b))
			continue
		}
		r.Parts = append(r.Parts, &responsePartParam{
			InlineData: &responseBlobParam{MIMEType: vendorhttp.MediaType(b), Data: b.Data},
		})
	}
	return shown
}

// isReadable reports whether the vendor reads files of a media type.
func isReadable(media string) bool {
	switch kind, _, _ := strings.Cut(media, "/"); kind {
	case "text", "audio", "video":
		return true
	}
	switch media {
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf", "application/json":
		return true
	default:
		return false
	}
}
