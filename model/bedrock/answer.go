package bedrock

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// answer turns the events of the vendor's stream into those of the runtime.
type answer struct {
	out *vendorhttp.Batch
	// blocks are the content blocks that are open, by their place in the answer.
	blocks map[vendorhttp.Number]*block
	calls  int
	// ending is a call whose arguments stopped, before it is known whether they were cut
	// off; -1 for none.
	ending int
	reason string
	usage  *model.Usage
}

func newAnswer() *answer { return &answer{blocks: map[vendorhttp.Number]*block{}, ending: -1} }

// block is a content block while it is being received.
type block struct {
	// call is the number of the call, -1 for another block.
	call int
	// input are arguments that came with the start of the call. They count if no piece
	// follows.
	input     json.RawMessage
	received  bool
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
	StopReason string                    `json:"stopReason"`
	Usage      vendorhttp.Detail[*usage] `json:"usage"`
}

type toolUse struct {
	ToolUseID string          `json:"toolUseId"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type blockDelta struct {
	Text    string `json:"text"`
	ToolUse struct {
		Input string `json:"input"`
	} `json:"toolUse"`
	Reasoning struct {
		Text      string                    `json:"text"`
		Signature string                    `json:"signature"`
		Redacted  vendorhttp.Detail[[]byte] `json:"redactedContent"`
	} `json:"reasoningContent"`
}

// usage is the vendor's count. The input tokens are those that have nothing to do with
// the cache.
type usage struct {
	Input      vendorhttp.Number `json:"inputTokens"`
	Output     vendorhttp.Number `json:"outputTokens"`
	CacheRead  vendorhttp.Number `json:"cacheReadInputTokens"`
	CacheWrite vendorhttp.Number `json:"cacheWriteInputTokens"`
}

// Translate handles one event, or an answer that was sent at once. The usage follows the
// reason for the end of the answer.
func (a *answer) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error) {
	a.out = out
	name := string(ev.Name)
	if exception, ok := strings.CutPrefix(name, exceptionMark); ok {
		r := parseRefusal(ev.Data)
		r.code = exception
		return false, r.modelError()
	}
	if name == "" {
		return a.readMessage(ev.Data)
	}
	var e event
	if err := vendorhttp.DecodeEvent(ev.Data, &e); err != nil {
		return false, err
	}
	switch name {
	case "contentBlockDelta":
		a.continueBlock(a.blockAt(e.Index), &e.Delta)
	case "contentBlockStart":
		return false, a.startBlock(e.Index, e.Start.ToolUse)
	case "contentBlockStop":
		a.stopBlock(e.Index)
	case "messageStop":
		a.reason = e.StopReason
		out.Ending = true
	case "metadata":
		a.countUsage(e.Usage.Value)
		if a.reason != "" {
			return a.finishAnswer()
		}
	}
	return false, nil
}

// End ends an answer whose usage did not come.
func (a *answer) End(out *vendorhttp.Batch) (done bool, err error) {
	if a.reason == "" {
		return false, nil
	}
	a.out = out
	return a.finishAnswer()
}

// blockAt returns the block at a place. Blocks of text have no start.
func (a *answer) blockAt(index vendorhttp.Number) *block {
	b := a.blocks[index]
	if b == nil {
		b = &block{call: -1}
		a.blocks[index] = b
		a.endCall()
	}
	return b
}

func (a *answer) startBlock(index vendorhttp.Number, call *toolUse) error {
	b := a.blockAt(index)
	switch {
	case call == nil:
		return nil
	case b.call >= 0:
		return vendorhttp.Malformed("a content block starts twice", nil)
	case call.ToolUseID == "" || call.Name == "":
		return vendorhttp.Malformed("a tool call has no ID or no name", nil)
	}
	b.call, b.input = a.calls, call.Input
	a.calls++
	a.out.Add(model.Event{Type: model.EventToolCallStart, Index: b.call, ID: call.ToolUseID, Name: call.Name})
	return nil
}

func (a *answer) continueBlock(b *block, d *blockDelta) {
	switch {
	case b.call >= 0:
		if d.ToolUse.Input != "" {
			b.received = true
			a.out.Add(model.Event{Type: model.EventToolCallDelta, Index: b.call, Delta: d.ToolUse.Input})
		}
	default:
		a.out.AddDelta(model.EventText, d.Text)
		a.out.AddDelta(model.EventReasoning, d.Reasoning.Text)
		b.signature.WriteString(d.Reasoning.Signature)
		b.redacted = append(b.redacted, d.Reasoning.Redacted.Value...)
	}
}

func (a *answer) stopBlock(index vendorhttp.Number) {
	b := a.blocks[index]
	if b == nil {
		return // an empty block of text
	}
	delete(a.blocks, index)
	switch {
	case b.call >= 0:
		if !b.received && len(b.input) > 0 && string(b.input) != "null" {
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

// endCall ends the call whose arguments stopped: what follows it shows that they were not
// cut off.
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

// finishAnswer ends the answer. A call that may have been cut off stays without an end.
func (a *answer) finishAnswer() (done bool, err error) {
	reason, err := finishReason(a.reason)
	if err != nil {
		return false, err
	}
	if reason == model.FinishStop {
		for _, b := range a.blocks {
			if b.call >= 0 {
				return false, vendorhttp.Malformed("a content block does not end", nil)
			}
		}
		a.endCall()
		if a.calls > 0 {
			reason = model.FinishToolCalls
		}
	}
	a.out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: a.usage})
	return true, nil
}

// finishReason returns why the answer ended, as far as the vendor says; whether it waits
// for tool results is seen from the answer itself.
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

// wholeAnswer is an answer that was sent at once.
type wholeAnswer struct {
	Output struct {
		Message struct {
			Content []wholeBlock `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason string                    `json:"stopReason"`
	Usage      vendorhttp.Detail[*usage] `json:"usage"`
}

type wholeBlock struct {
	Text      string   `json:"text"`
	ToolUse   *toolUse `json:"toolUse"`
	Reasoning struct {
		Text struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
		Redacted vendorhttp.Detail[[]byte] `json:"redactedContent"`
	} `json:"reasoningContent"`
}

// readMessage reads an answer that was sent at once. One without a reason for its end is
// not an answer.
func (a *answer) readMessage(data []byte) (done bool, err error) {
	var m wholeAnswer
	if err := vendorhttp.DecodeEvent(data, &m); err != nil || m.StopReason == "" {
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
	a.reason = m.StopReason
	a.countUsage(m.Usage.Value)
	return a.finishAnswer()
}
