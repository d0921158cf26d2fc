package anthropic

import (
	"cmp"
	"encoding/json"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// Translate handles one event of the vendor's stream. It reports whether the answer
// is complete; then the last of the events is an EventFinish.
func (a *answer) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error) {
	a.out = out
	done, err = a.translateEvent(ev)
	out.Usage = a.usageSoFar()
	return done, err
}

// End ends an answer without a final event that has a finish reason, or the other vendors' end mark.
func (a *answer) End(marked bool, out *vendorhttp.Batch) (done bool, err error) {
	if a.reason == "" && !marked {
		return false, nil
	}
	a.out, out.Usage = out, a.usageSoFar()
	return a.finishAnswer()
}

func (a *answer) translateEvent(ev *vendorhttp.ServerEvent) (done bool, err error) {
	name, err := eventName(ev)
	if err != nil {
		return false, err
	}
	switch name {
	case "content_block_delta", "content_block_start", "content_block_stop", "message_start", "message_delta":
		return false, a.readEvent(name, ev.Data)
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

// event is any event of a message or its blocks.
type event struct {
	Index        vendorhttp.Number                 `json:"index"`
	ContentBlock blockContent                      `json:"content_block"`
	Delta        deltaFields                       `json:"delta"`
	Message      vendorhttp.Detail[startedMessage] `json:"message"`
	Usage        vendorhttp.Detail[*usage]         `json:"usage"`
}

type startedMessage struct {
	Usage vendorhttp.Detail[*usage] `json:"usage"`
}

// readEvent handles an event of the message or of one of its blocks.
func (a *answer) readEvent(name string, data []byte) error {
	a.event = event{}
	ev := &a.event
	if err := vendorhttp.DecodeEvent(data, ev); err != nil {
		return err
	}
	switch name {
	case "content_block_delta":
		return a.continueBlock(ev.Index, &ev.Delta)
	case "content_block_start":
		return a.openBlock(ev.Index, &ev.ContentBlock)
	case "content_block_stop":
		a.closeBlock(ev.Index)
	case "message_start":
		a.countUsage(ev.Message.Value.Usage.Value)
	case "message_delta":
		a.reason = cmp.Or(string(ev.Delta.StopReason), a.reason)
		a.countUsage(ev.Usage.Value)
	}
	return nil
}
