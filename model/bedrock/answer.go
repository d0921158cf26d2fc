package bedrock

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// answer converts the vendor's stream events into events of the runtime.
type answer struct {
	out *vendorhttp.Batch
	// blocks are the open content blocks, by position in the answer.
	blocks map[vendorhttp.Number]*block
	calls  int
	// ending is a call whose arguments stopped, while it is unknown whether they were cut off; -1
	// for none.
	ending int
	reason string
	usage  *model.Usage
}

func newAnswer() *answer { return &answer{blocks: map[vendorhttp.Number]*block{}, ending: -1} }

// block is a content block while it is being received.
type block struct {
	// call is the number of the call; -1 for another block.
	call int
	// input holds arguments sent with the start of the call. They count only if no further piece
	// follows.
	input    json.RawMessage
	received bool
	// arguments follows the pieces of arguments.
	arguments vendorhttp.Nesting
	signature strings.Builder
	redacted  []byte
}

// event is any event of a stream.
type event struct {
	Index vendorhttp.Number `json:"contentBlockIndex"`
	Start struct {
		ToolUse *toolUse `json:"toolUse"`
	} `json:"start"`
	Delta      blockDelta                `json:"delta"`
	StopReason vendorhttp.Text           `json:"stopReason"`
	Usage      vendorhttp.Detail[*usage] `json:"usage"`
}

type toolUse struct {
	ToolUseID vendorhttp.Text `json:"toolUseId"`
	Name      vendorhttp.Text `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type blockDelta struct {
	Text    vendorhttp.Content `json:"text"`
	ToolUse struct {
		Input vendorhttp.Arguments `json:"input"`
	} `json:"toolUse"`
	Reasoning struct {
		Text      vendorhttp.Text           `json:"text"`
		Signature vendorhttp.Text           `json:"signature"`
		Redacted  vendorhttp.Detail[[]byte] `json:"redactedContent"`
	} `json:"reasoningContent"`
}

// DecodeText decodes a text delta.
func (d *blockDelta) DecodeText(text string) bool {
	d.Text = vendorhttp.Content(text)
	return true
}

// usage is the vendor's count. Its input tokens exclude those read from or written to the cache.
type usage struct {
	Input      vendorhttp.Number `json:"inputTokens"`
	Output     vendorhttp.Number `json:"outputTokens"`
	CacheRead  vendorhttp.Number `json:"cacheReadInputTokens"`
	CacheWrite vendorhttp.Number `json:"cacheWriteInputTokens"`
}

// Translate handles one event, or an answer sent whole. The usage follows the finish reason.
func (a *answer) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error) {
	a.out = out
	name := string(ev.Name)
	exception, ok := strings.CutPrefix(name, exceptionMark)
	if ok || strings.HasSuffix(name, "Exception") { // gateways send exceptions as events
		r := parseRefusal(ev.Data)
		r.code = exception
		return false, r.modelError()
	}
	if name == "" || name == "message" {
		return a.translateNameless(ev.Data)
	}
	var e event
	if err := vendorhttp.DecodeEvent(ev.Data, &e); err != nil {
		return false, err
	}
	switch name {
	case "contentBlockDelta":
		a.continueBlock(a.continuedBlock(e.Index, &e.Delta), &e.Delta)
	case "contentBlockStart":
		return false, a.startBlock(e.Index, e.Start.ToolUse)
	case "contentBlockStop":
		a.stopBlock(e.Index)
	case "messageStop":
		a.reason = cmp.Or(string(e.StopReason), "end_turn")
		out.Ending = true
	case "metadata":
		a.countUsage(e.Usage.Value)
		if a.reason != "" && a.usage != nil {
			return a.finishAnswer()
		}
	default:
		out.Unknown = name != "messageStart"
	}
	return false, nil
}

// translateNameless handles an event that is named by its only field, as the SDKs write events, or an
// answer that was sent at once.
func (a *answer) translateNameless(data []byte) (done bool, err error) {
	for range maxMessages {
		name, inner := onlyObject(data)
		if name == "output" || inner == nil {
			break
		}
		if name != "" && name != "message" {
			return a.Translate(&vendorhttp.ServerEvent{Name: []byte(name), Data: inner}, a.out)
		}
		data = inner
	}
	return a.readMessage(data)
}

// maxMessages bounds how deep messages may be nested, since each level is decoded separately.
const maxMessages = 4

// onlyObject returns the only member of an object if it is an object, or nil.
func onlyObject(data []byte) (name string, inner json.RawMessage) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || len(fields) != 1 {
		return "", nil
	}
	for name, inner = range fields {
		if inner[0] != '{' {
			return "", nil
		}
	}
	return name, inner
}

// End ends an answer that is missing its usage.
func (a *answer) End(_ bool, out *vendorhttp.Batch) (done bool, err error) {
	if a.reason == "" {
		return false, nil
	}
	a.out = out
	return a.finishAnswer()
}

// blockAt returns the block at an index. Text blocks have no start.
func (a *answer) blockAt(index vendorhttp.Number) *block {
	b := a.blocks[index]
	if b == nil {
		b = &block{call: -1}
		a.blocks[index] = b
		a.endCall()
	}
	return b
}

// continuedBlock returns the block that a delta continues: the block at its index, or for arguments
// the only open call.
func (a *answer) continuedBlock(index vendorhttp.Number, d *blockDelta) *block {
	if b := a.blocks[index]; d.ToolUse.Input != "" && (b == nil || b.call < 0) {
		if call := vendorhttp.OnlyCall(maps.Values(a.blocks), func(b *block) bool { return b.call >= 0 }); call != nil {
			return call
		}
	}
	return a.blockAt(index)
}

func (a *answer) startBlock(index vendorhttp.Number, call *toolUse) error {
	b := a.blockAt(index)
	switch {
	case call == nil:
		return nil
	case b.call >= 0 && b.arguments.IsOpen():
		return vendorhttp.Malformed("a content block starts twice", nil)
	case call.Name == "":
		return vendorhttp.Malformed("a tool call has no name", nil)
	case b.call >= 0: // it ended without an end event
		a.stopBlock(index)
		b = a.blockAt(index)
	}
	b.call, b.input = a.calls, call.Input
	a.calls++
	a.out.Add(model.Event{Type: model.EventToolCallStart, Index: b.call, ID: string(call.ToolUseID), Name: string(call.Name)})
	return nil
}

func (a *answer) continueBlock(b *block, d *blockDelta) {
	a.out.AddDelta(model.EventText, string(d.Text))
	a.out.AddDelta(model.EventReasoning, string(d.Reasoning.Text))
	switch {
	case b.call < 0:
		b.signature.WriteString(string(d.Reasoning.Signature))
		b.redacted = append(b.redacted, d.Reasoning.Redacted.Value...)
	case d.ToolUse.Input != "":
		b.received = true
		b.arguments.Read(string(d.ToolUse.Input))
		a.out.Add(model.Event{Type: model.EventToolCallDelta, Index: b.call, Delta: string(d.ToolUse.Input)})
	}
}

func (a *answer) stopBlock(index vendorhttp.Number) {
	b := a.blocks[index]
	if b == nil {
		return // an empty text block
	}
	delete(a.blocks, index)
	switch {
	case b.call >= 0:
		if !b.received && vendorhttp.HasArguments(b.input) {
			a.out.Add(model.Event{Type: model.EventToolCallDelta, Index: b.call, Delta: string(b.input)})
		}
		a.endCall()
		a.ending = b.call
	case b.signature.Len() > 0:
		a.out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: thinkingMark + b.signature.String()})
	case len(b.redacted) > 0:
		a.out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: redactedMark + base64.StdEncoding.EncodeToString(b.redacted)})
	}
}

// endCall ends the call whose arguments stopped: later output shows that they were not cut off.
func (a *answer) endCall() {
	if a.ending >= 0 {
		a.out.Add(model.Event{Type: model.EventToolCallEnd, Index: a.ending})
		a.ending = -1
	}
}

func (a *answer) countUsage(u *usage) {
	if u == nil {
		return
	}
	counted := model.Usage{
		Input:     int(u.Input) + int(u.CacheRead) + int(u.CacheWrite),
		Output:    int(u.Output),
		CacheRead: int(u.CacheRead), CacheWrite: int(u.CacheWrite),
	}.Reconciled()
	a.usage, a.out.Usage = &counted, &counted
}

// finishAnswer ends the answer. A call that may have been cut off is left open.
func (a *answer) finishAnswer() (done bool, err error) {
	reason, err := finishReason(a.reason)
	if err != nil {
		return false, err
	}
	if reason == model.FinishStop {
		for _, index := range slices.Sorted(maps.Keys(a.blocks)) {
			if a.blocks[index].arguments.IsOpen() {
				return false, vendorhttp.Malformed("a content block does not end", nil)
			}
			a.stopBlock(index)
		}
		a.endCall()
		if a.calls > 0 {
			reason = model.FinishToolCalls
		}
	}
	a.out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: a.usage})
	return true, nil
}

// finishReason returns why the answer ended, according to the vendor; the answer itself shows
// whether it waits for tool results.
func finishReason(vendor string) (model.FinishReason, error) {
	switch vendor {
	case "max_tokens", "model_context_window_exceeded":
		return model.FinishMaxTokens, nil
	case "guardrail_intervened", "content_filtered", "refusal":
		return model.FinishContentFilter, nil
	case "malformed_model_output", "malformed_tool_use":
		return "", &model.Error{Class: model.Provider, Message: "the model wrote an answer that the vendor cannot read: " + vendor}
	default:
		return model.FinishStop, nil
	}
}

// wholeAnswer is an answer sent whole.
type wholeAnswer struct {
	Output struct {
		Message struct {
			Content []wholeBlock `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason vendorhttp.Text           `json:"stopReason"`
	Usage      vendorhttp.Detail[*usage] `json:"usage"`
}

type wholeBlock struct {
	Text      vendorhttp.Content `json:"text"`
	ToolUse   *toolUse           `json:"toolUse"`
	Reasoning struct {
		Text struct {
			Text      vendorhttp.Text `json:"text"`
			Signature vendorhttp.Text `json:"signature"`
		} `json:"reasoningText"`
		Redacted vendorhttp.Detail[[]byte] `json:"redactedContent"`
	} `json:"reasoningContent"`
}

// readMessage reads an answer that was sent whole. Data without a finish reason is not an answer.
func (a *answer) readMessage(data []byte) (done bool, err error) {
	var m wholeAnswer
	if err := vendorhttp.DecodeEvent(data, &m); err != nil || m.StopReason == "" && len(m.Output.Message.Content) == 0 {
		a.out.Unknown = true
		return false, err
	}
	for i := range m.Output.Message.Content {
		b, index := &m.Output.Message.Content[i], vendorhttp.Number(i)
		if err := a.startBlock(index, b.ToolUse); err != nil {
			return false, err
		}
		d := blockDelta{Text: b.Text}
		d.Reasoning.Text, d.Reasoning.Signature, d.Reasoning.Redacted = b.Reasoning.Text.Text, b.Reasoning.Text.Signature, b.Reasoning.Redacted
		a.continueBlock(a.blockAt(index), &d)
		a.stopBlock(index)
	}
	a.reason = string(m.StopReason)
	a.countUsage(m.Usage.Value)
	return a.finishAnswer()
}
