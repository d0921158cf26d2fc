package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// answer converts the events of the vendor's stream to ours. It decodes only the events and fields
// it needs, because the SDK's types cost several times as much.
type answer struct {
	// out receives the result of the vendor's latest event.
	out *vendorhttp.Batch
	// blocks are the open content blocks, by position in the answer.
	blocks map[vendorhttp.Number]*block
	delta  blockDelta
	calls  int
	// ending is a call whose arguments stopped, while it is unknown whether they were cut off; -1
	// for none.
	ending int
	report *reporting
	reason string
	usage  model.Usage
	// counted is set once the vendor has reported a usage.
	counted bool
}

func newAnswer(r *report) *answer {
	a := &answer{blocks: map[vendorhttp.Number]*block{}, ending: -1}
	if r != nil {
		a.report = &reporting{report: r}
	}
	return a
}

// Translate handles one event of the vendor's stream. It reports whether the answer
// is complete; then the last of the events is an EventFinish.
func (a *answer) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error) {
	a.out = out
	if ev.IsEnd() {
		done, err = a.finishAnswer() // the other vendors' end mark
	} else {
		done, err = a.translateEvent(ev)
	}
	out.Usage = a.usageSoFar()
	return done, err
}

// End ends an answer that has a finish reason but no final event.
func (a *answer) End(out *vendorhttp.Batch) (done bool, err error) {
	if a.reason == "" {
		return false, nil
	}
	a.out = out
	return a.finishAnswer()
}

func (a *answer) translateEvent(ev *vendorhttp.ServerEvent) (done bool, err error) {
	name, err := eventName(ev)
	if err != nil {
		return false, err
	}
	switch name {
	case "content_block_delta":
		return false, a.continueBlock(ev.Data)
	case "content_block_start":
		return false, a.startBlock(ev.Data)
	case "content_block_stop":
		return false, a.stopBlock(ev.Data)
	case "message_start":
		return false, a.beginMessage(ev.Data)
	case "message_delta":
		return false, a.noteStopReason(ev.Data)
	case "message_stop":
		return a.finishAnswer()
	case "message":
		return a.readMessage(ev.Data)
	case "error":
		r := parseRefusal(ev.Data)
		r.message = cmp.Or(r.message, vendorhttp.PlainError(ev.Data))
		return false, r.modelError()
	default:
		a.out.Unknown = name != "ping"
	}
	return false, nil
}

// eventName returns the event's type; some gateways specify it only in the data.
func eventName(ev *vendorhttp.ServerEvent) (string, error) {
	if name := string(ev.Name); name != "" && name != "message" {
		return name, nil
	}
	var typed struct {
		Type    vendorhttp.Text `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	err := vendorhttp.DecodeEvent(ev.Data, &typed)
	if typed.Type == "" && !vendorhttp.IsNothing(typed.Content) {
		typed.Type = "message"
	}
	return string(typed.Type), err
}

type messageStart struct {
	Message vendorhttp.Detail[startedMessage] `json:"message"`
}

type startedMessage struct {
	Usage vendorhttp.Detail[*usage] `json:"usage"`
}

type messageDelta struct {
	Delta struct {
		StopReason vendorhttp.Text `json:"stop_reason"`
	} `json:"delta"`
	Usage vendorhttp.Detail[*usage] `json:"usage"`
}

func (a *answer) beginMessage(data []byte) error {
	var ev messageStart
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	a.countUsage(ev.Message.Value.Usage.Value)
	return nil
}

func (a *answer) noteStopReason(data []byte) error {
	var ev messageDelta
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	if ev.Delta.StopReason != "" {
		a.reason = string(ev.Delta.StopReason)
	}
	a.countUsage(ev.Usage.Value)
	return nil
}

// usage is the vendor's count. Its input tokens exclude those read from or written to the cache.
type usage struct {
	InputTokens              vendorhttp.Number                `json:"input_tokens"`
	CacheReadInputTokens     vendorhttp.Number                `json:"cache_read_input_tokens"`
	CacheCreationInputTokens vendorhttp.Number                `json:"cache_creation_input_tokens"`
	OutputTokens             vendorhttp.Number                `json:"output_tokens"`
	OutputTokensDetails      vendorhttp.Detail[outputDetails] `json:"output_tokens_details"`
}

type outputDetails struct {
	ThinkingTokens vendorhttp.Number `json:"thinking_tokens"`
}

// countUsage records a usage report of the vendor. Each repeats parts of the
// earlier ones; missing fields keep their value.
func (a *answer) countUsage(u *usage) {
	if u == nil {
		return
	}
	plain := max(a.usage.Input-a.usage.CacheRead-a.usage.CacheWrite, int(u.InputTokens))
	a.usage.CacheRead = max(a.usage.CacheRead, int(u.CacheReadInputTokens))
	a.usage.CacheWrite = max(a.usage.CacheWrite, int(u.CacheCreationInputTokens))
	a.usage.Input = plain + a.usage.CacheRead + a.usage.CacheWrite
	a.usage.Output = max(a.usage.Output, int(u.OutputTokens))
	a.usage.Reasoning = min(max(a.usage.Reasoning, int(u.OutputTokensDetails.Value.ThinkingTokens)), a.usage.Output)
	a.usage = a.usage.Reconciled()
	a.counted = true
}

// finishAnswer ends the answer. Without a reason it ended naturally. A call that may have been cut
// off is left open.
func (a *answer) finishAnswer() (done bool, err error) {
	reason := finishReason(a.reason)
	if reason == model.FinishStop {
		if err := a.closeBlocks(); err != nil {
			return false, err
		}
		if a.endCall(); a.calls > 0 {
			reason = model.FinishToolCalls
		}
	}
	if a.report != nil {
		a.report.finishAnswer(a)
	}
	a.out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: a.usageSoFar()})
	return true, nil
}

// closeBlocks closes the open blocks, because some gateways do not. The arguments of a call show
// whether they are complete.
func (a *answer) closeBlocks() error {
	for _, index := range slices.Sorted(maps.Keys(a.blocks)) {
		if a.blocks[index].arguments.IsOpen() {
			return vendorhttp.Malformed("a tool call does not end", nil)
		}
		a.closeBlock(index)
	}
	return nil
}

// usageSoFar returns the usage of the answer so far; nil if the vendor did not report it.
func (a *answer) usageSoFar() *model.Usage {
	if !a.counted {
		return nil
	}
	return &a.usage
}

// finishReason returns why the answer ended, according to the vendor; the answer itself shows
// whether it waits for tool results.
func finishReason(vendor string) model.FinishReason {
	switch vendor {
	case "max_tokens", "model_context_window_exceeded":
		return model.FinishMaxTokens
	case "refusal":
		return model.FinishContentFilter
	default:
		return model.FinishStop
	}
}
