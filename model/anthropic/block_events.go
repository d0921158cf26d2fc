package anthropic

import (
	"maps"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// openBlock opens a block. It ends a block that is still open at the same index.
func (a *answer) openBlock(index vendorhttp.Number, start *blockContent) error {
	if open := a.blocks[index]; open != nil {
		if open.arguments.IsOpen() {
			return vendorhttp.Malformed("a content block starts twice", nil)
		}
		a.closeBlock(index)
	}
	a.endCall()
	b := &block{kind: string(start.Type), signature: []byte(start.Signature)}
	a.blocks[index] = b
	switch b.kind {
	case "text":
		a.addText(string(start.Text))
	case "thinking":
		a.out.AddDelta(model.EventReasoning, string(start.Thinking))
	case "redacted_thinking":
		a.out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: redactedMark + string(start.Data)})
	case "tool_use":
		b.input = start.Input
		return a.startCall(b, string(start.ID), string(start.Name))
	}
	return nil
}

// startCall starts a call. A call without an ID gets a generated one.
func (a *answer) startCall(b *block, id, name string) error {
	if name == "" {
		return vendorhttp.Malformed("a tool call has no name", nil)
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

// impliedKinds are the kinds of blocks that some gateways do not start, by the type of their
// deltas.
var impliedKinds = map[vendorhttp.Text]string{"text_delta": "text", "thinking_delta": "thinking"}

func (a *answer) continueBlock(index vendorhttp.Number, delta *deltaFields) error {
	if !strings.HasSuffix(string(delta.Type), "_delta") {
		delta.Type = impliedType(delta)
	}
	b, err := a.continuedBlock(index, delta.Type)
	if err != nil {
		return err
	}
	switch delta.Type {
	case "text_delta":
		a.addText(string(delta.Text))
	case "thinking_delta":
		a.out.AddDelta(model.EventReasoning, string(delta.Thinking))
	case "signature_delta":
		b.signature = append(b.signature, delta.Signature...)
	case "input_json_delta":
		if b.kind == "tool_use" {
			b.received = b.received || delta.PartialJSON != ""
			b.arguments.Read(string(delta.PartialJSON))
			a.addArguments(b, string(delta.PartialJSON))
		}
	}
	return nil
}

// impliedType returns the type of a delta that does not say it, or says the kind of the block.
func impliedType(d *deltaFields) vendorhttp.Text {
	switch {
	case d.PartialJSON != "":
		return "input_json_delta"
	case d.Thinking != "":
		return "thinking_delta"
	case d.Text != "":
		return "text_delta"
	default:
		return "signature_delta"
	}
}

// continuedBlock returns the block that a delta continues: the block at its index, or for arguments
// the only open call. It opens a missing block if the delta's type implies the kind.
func (a *answer) continuedBlock(index vendorhttp.Number, delta vendorhttp.Text) (*block, error) {
	b := a.blocks[index]
	if delta == "input_json_delta" && (b == nil || b.kind != "tool_use") {
		if call := vendorhttp.OnlyCall(maps.Values(a.blocks), func(b *block) bool { return b.kind == "tool_use" }); call != nil {
			return call, nil
		}
	}
	if b != nil {
		return b, nil
	}
	kind := impliedKinds[delta]
	if kind == "" {
		return nil, vendorhttp.Malformed("a delta belongs to a content block that is not open", nil)
	}
	err := a.openBlock(index, &blockContent{Type: vendorhttp.Text(kind)})
	return a.blocks[index], err
}

// closeBlock ends a block. Some gateways end blocks that are not open, or end them twice.
func (a *answer) closeBlock(index vendorhttp.Number) {
	b := a.blocks[index]
	if b == nil {
		return
	}
	delete(a.blocks, index)
	switch {
	case b.kind == "thinking" && len(b.signature) > 0:
		a.out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: thinkingMark + string(b.signature)})
	case b.kind == "tool_use":
		if !b.received && vendorhttp.HasArguments(b.input) {
			a.addArguments(b, string(b.input))
		}
		a.endCall()
		if !b.report {
			a.ending = b.call
		}
	}
}
