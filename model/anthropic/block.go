package anthropic

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// block is a content block of an answer while it is being received.
type block struct {
	kind string
	// call is the number of the call.
	call int
	// signature collects what vouches for a thought.
	signature []byte
	// input are arguments that came along with the start of a call. They count
	// when no piece of arguments follows.
	input    json.RawMessage
	received bool
	// report is set if the block is the call of the report.
	report bool
}

type blockStart struct {
	Index        vendorhttp.Number `json:"index"`
	ContentBlock blockContent      `json:"content_block"`
}

// blockContent is the beginning of a block in a stream, or a whole block.
type blockContent struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
}

type blockDelta struct {
	Index vendorhttp.Number `json:"index"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
	} `json:"delta"`
}

func (a *answer) startBlock(data []byte) error {
	var ev blockStart
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	return a.openBlock(ev.Index, &ev.ContentBlock)
}

func (a *answer) openBlock(index vendorhttp.Number, start *blockContent) error {
	if a.blocks[index] != nil {
		return vendorhttp.Malformed("a content block starts twice", nil)
	}
	a.endCall()
	b := &block{kind: start.Type, signature: []byte(start.Signature)}
	a.blocks[index] = b
	switch b.kind {
	case "text":
		a.addText(start.Text)
	case "thinking":
		a.out.AddDelta(model.EventReasoning, start.Thinking)
	case "redacted_thinking":
		a.out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: redactedMark + start.Data})
	case "tool_use":
		b.input = start.Input
		return a.startCall(b, start.ID, start.Name)
	}
	return nil
}

func (a *answer) startCall(b *block, id, name string) error {
	if id == "" || name == "" {
		return vendorhttp.Malformed("a tool call has no id or no name", nil)
	}
	if a.report != nil {
		if name == a.report.name {
			b.report = true
			a.report.beginCall(b)
			return nil
		}
		a.report.releaseText(a)
	}
	b.call = a.calls
	a.calls++
	a.out.Add(model.Event{Type: model.EventToolCallStart, Index: b.call, ID: id, Name: name})
	return nil
}

// impliedKinds are the kinds of blocks that some gateways do not begin, by what continues
// them.
var impliedKinds = map[string]string{"text_delta": "text", "thinking_delta": "thinking"}

func (a *answer) continueBlock(data []byte) error {
	a.delta = blockDelta{}
	if err := vendorhttp.DecodeEvent(data, &a.delta); err != nil {
		return err
	}
	delta := &a.delta.Delta
	b := a.blocks[a.delta.Index]
	if b == nil {
		kind := impliedKinds[delta.Type]
		if kind == "" {
			return vendorhttp.Malformed("a content block goes on that is not open", nil)
		}
		if err := a.openBlock(a.delta.Index, &blockContent{Type: kind}); err != nil {
			return err
		}
		b = a.blocks[a.delta.Index]
	}
	switch {
	case b.kind == "text" && delta.Type == "text_delta":
		a.addText(delta.Text)
	case b.kind == "thinking" && delta.Type == "thinking_delta":
		a.out.AddDelta(model.EventReasoning, delta.Thinking)
	case b.kind == "thinking" && delta.Type == "signature_delta":
		b.signature = append(b.signature, delta.Signature...)
	case b.kind == "tool_use" && delta.Type == "input_json_delta":
		b.received = b.received || delta.PartialJSON != ""
		a.addArguments(b, delta.PartialJSON)
	}
	return nil
}

func (a *answer) stopBlock(data []byte) error {
	var ev struct {
		Index vendorhttp.Number `json:"index"`
	}
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	return a.closeBlock(ev.Index)
}

func (a *answer) closeBlock(index vendorhttp.Number) error {
	b := a.blocks[index]
	if b == nil {
		return vendorhttp.Malformed("a content block ends that is not open", nil)
	}
	delete(a.blocks, index)
	switch {
	case b.kind == "thinking" && len(b.signature) > 0:
		a.out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: thinkingMark + string(b.signature)})
	case b.kind == "tool_use":
		if !b.received && len(b.input) > 0 {
			a.addArguments(b, string(b.input))
		}
		a.endCall()
		if !b.report {
			a.ending = b.call
		}
	}
	return nil
}

// addText adds a piece of text. An answer that may end in a report keeps it
// back until it shows what it is.
func (a *answer) addText(piece string) {
	if a.report != nil {
		a.report.holdText(piece)
		return
	}
	a.out.AddDelta(model.EventText, piece)
}

func (a *answer) addArguments(b *block, piece string) {
	switch {
	case b.report:
		a.report.addArguments(a, b, piece)
	case piece != "":
		a.out.Add(model.Event{Type: model.EventToolCallDelta, Index: b.call, Delta: piece})
	}
}

// endCall ends the call that stopped last: an answer that goes on did not cut
// it off.
func (a *answer) endCall() {
	if a.ending >= 0 {
		a.out.Add(model.Event{Type: model.EventToolCallEnd, Index: a.ending})
		a.ending = -1
	}
}
