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
