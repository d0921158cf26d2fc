package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// messageFields are opaque fields of a message that must be returned to its provider: OpenRouter's
// reasoning_details, Copilot's reasoning_opaque, and LiteLLM's fields with its vendors' data.
type messageFields struct {
	ReasoningDetails       json.RawMessage `json:"reasoning_details,omitempty"`
	ProviderSpecificFields json.RawMessage `json:"provider_specific_fields,omitempty"`
	ThinkingBlocks         json.RawMessage `json:"thinking_blocks,omitempty"`
	ReasoningOpaque        json.RawMessage `json:"reasoning_opaque,omitempty"`
}

// callFields are opaque fields of a call that must be returned to its provider: Gemini's through
// a compatible endpoint, and LiteLLM's.
type callFields struct {
	ExtraContent           json.RawMessage `json:"extra_content,omitempty"`
	ProviderSpecificFields json.RawMessage `json:"provider_specific_fields,omitempty"`
}

// isEmpty reports whether there are no fields.
func (f *callFields) isEmpty() bool {
	return vendorhttp.IsNothing(f.ExtraContent) && vendorhttp.IsNothing(f.ProviderSpecificFields)
}

// add adds the fields of a piece of the call. Each field is complete in one piece.
func (f *callFields) add(more *callFields) {
	if !vendorhttp.IsNothing(more.ExtraContent) {
		f.ExtraContent = more.ExtraContent
	}
	if !vendorhttp.IsNothing(more.ProviderSpecificFields) {
		f.ProviderSpecificFields = more.ProviderSpecificFields
	}
}

// ownedFields are the opaque fields of a call and the ID of the provider that sent them.
type ownedFields struct {
	Provider string `json:"provider,omitempty"`
	callFields
}

// encode returns the fields with their provider as JSON, empty for none.
func (f *callFields) encode(provider string) string {
	if f.isEmpty() {
		return ""
	}
	encoded, _ := rawjson.Marshal(ownedFields{provider, *f}) // what was decoded encodes
	return string(encoded)
}

// fieldsOfCall returns the fields of a call to return to a provider. Calls stored by earlier
// versions have only extra_content and name no provider.
func fieldsOfCall(c *model.ToolCall, provider string) (f callFields) {
	if vendorhttp.IsNothing(c.Extra) {
		return f
	}
	var owned ownedFields
	switch err := json.Unmarshal(c.Extra, &owned); {
	case err != nil || owned.Provider == "":
		f.ExtraContent = c.Extra
	case owned.Provider == provider:
		f = owned.callFields
	}
	return f
}

// returnedFields gathers the opaque fields of an answer.
type returnedFields struct {
	provider                          string
	details, specific, blocks, opaque fieldPieces
	// emptyReasoning is set if reasoning_content was sent. DeepSeek and Kimi require it back even if
	// it is empty.
	emptyReasoning bool
}

// detailsText returns the text of reasoning_details. OpenRouter usually repeats it in reasoning.
func detailsText(details json.RawMessage) string {
	if !bytes.Contains(details, []byte("reasoning.")) {
		return ""
	}
	var list []struct {
		Text    vendorhttp.Text `json:"text"`
		Summary vendorhttp.Text `json:"summary"`
	}
	_ = json.Unmarshal(details, &list) // details of another form have no text
	var text strings.Builder
	for i := range list {
		text.WriteString(string(list[i].Text + list[i].Summary))
	}
	return text.String()
}

// ownerMark is the prefix of encrypted reasoning that holds message fields; the provider's ID and a
// newline follow it.
const ownerMark = "openai_fields:"

// returnedMessage holds the fields to return with a message besides its text, reasoning and calls.
type returnedMessage struct {
	EmptyReasoning bool `json:"empty_reasoning_content,omitempty"`
	messageFields
}

// emitFields adds an event with the fields to return, if there are any. thought is set if reasoning was
// streamed.
func (r *returnedFields) emitFields(thought bool, out *vendorhttp.Batch) {
	m := returnedMessage{r.emptyReasoning && !thought, messageFields{r.details.join(), r.specific.join(), r.blocks.join(), r.opaque.join()}}
	encoded, err := rawjson.Marshal(m)
	if err != nil || string(encoded) == "{}" {
		return
	}
	out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: ownerMark + r.provider + "\n" + string(encoded)})
}

// fieldsOfReasoning returns the fields of a message to return to a provider; none for another
// provider.
func fieldsOfReasoning(r *model.Reasoning, provider string) (m returnedMessage) {
	if encoded, ok := strings.CutPrefix(r.Encrypted, ownerMark+provider+"\n"); ok {
		_ = json.Unmarshal([]byte(encoded), &m) // this package wrote it
	}
	return m
}

const (
	// fieldLimit is the maximum size of an opaque field in bytes. Larger fields are dropped.
	fieldLimit = 1 << 20
	// maxMergeDepth is the maximum depth for merging objects. Below it, the last piece wins.
	maxMergeDepth = 8
)

// fieldPieces holds the pieces of a streamed field.
type fieldPieces struct {
	list []json.RawMessage
	size int
}

func (p *fieldPieces) add(piece json.RawMessage) {
	if p.size += len(piece); !vendorhttp.IsNothing(piece) && p.size <= fieldLimit {
		p.list = append(p.list, piece)
	}
}

// join returns the whole field: it joins lists, merges objects and takes the last of other values.
// It returns nil for a field that is missing or too large.
func (p *fieldPieces) join() json.RawMessage { return p.joinBelow(0) }

func (p *fieldPieces) joinBelow(depth int) json.RawMessage {
	if len(p.list) == 0 || p.size > fieldLimit {
		return nil
	}
	if len(p.list) == 1 || depth == maxMergeDepth {
		return p.list[len(p.list)-1]
	}
	var elements []*fieldElement
	members := map[string]*fieldPieces{}
	for _, piece := range p.list {
		var list []json.RawMessage
		var object map[string]json.RawMessage
		switch {
		case json.Unmarshal(piece, &list) == nil:
			for _, raw := range list {
				elements = appendElement(elements, raw)
			}
		case json.Unmarshal(piece, &object) == nil:
			for name, value := range object {
				if members[name] == nil {
					members[name] = &fieldPieces{}
				}
				members[name].add(value)
			}
		}
	}
	joined := p.list[len(p.list)-1]
	switch {
	case elements != nil:
		joined, _ = rawjson.Marshal(elements) // what was decoded encodes
	case len(members) > 0:
		object := make(map[string]json.RawMessage, len(members))
		for name, value := range members {
			if whole := value.joinBelow(depth + 1); whole != nil {
				object[name] = whole
			}
		}
		joined, _ = rawjson.Marshal(object)
	}
	return joined
}

// fieldElement is an element of a streamed list.
type fieldElement struct {
	raw    json.RawMessage
	fields map[string]json.RawMessage
	// texts are the fields that are streamed in pieces.
	texts map[string][]byte
}

// streamedTexts are the fields of elements that are streamed in pieces.
var streamedTexts = []string{"text", "summary", "data", "thinking"}

// appendElement appends an element or extends the last one. OpenRouter repeats the type and index
// of a continued element, LiteLLM repeats the type until the signature.
func appendElement(list []*fieldElement, raw json.RawMessage) []*fieldElement {
	one := &fieldElement{raw: raw}
	if json.Unmarshal(raw, &one.fields) != nil {
		return append(list, one)
	}
	if n := len(list); n > 0 && list[n-1].isContinuedBy(one) {
		list[n-1].extend(one.fields)
		return list
	}
	return append(list, one)
}

func (e *fieldElement) isContinuedBy(next *fieldElement) bool {
	if e.fields == nil || !bytes.Equal(e.fields["type"], next.fields["type"]) || !bytes.Equal(e.fields["index"], next.fields["index"]) {
		return false
	}
	return next.fields["index"] != nil || next.fields["thinking"] != nil && vendorhttp.IsNothing(e.fields["signature"])
}

func (e *fieldElement) extend(more map[string]json.RawMessage) {
	if e.texts == nil {
		e.texts = map[string][]byte{}
	}
	for name, value := range more {
		var text string
		switch {
		case string(value) == "null":
		case !slices.Contains(streamedTexts, name) || json.Unmarshal(value, &text) != nil:
			e.fields[name] = value
		default:
			if e.texts[name] == nil {
				var before string
				_ = json.Unmarshal(e.fields[name], &before) // empty unless a string
				e.texts[name] = []byte(before)
			}
			e.texts[name] = append(e.texts[name], text...)
		}
	}
}

// MarshalJSON writes the element.
func (e *fieldElement) MarshalJSON() ([]byte, error) {
	if e.texts == nil {
		return e.raw, nil
	}
	for name, text := range e.texts {
		e.fields[name], _ = rawjson.Marshal(string(text)) // a text always encodes
	}
	return rawjson.Marshal(e.fields)
}
