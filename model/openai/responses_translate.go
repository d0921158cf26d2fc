package openai

import (
	"bytes"
	"encoding/json"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// Translate translates one event.
func (s *responsesStream) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (bool, error) {
	if err := nameEvent(ev); err != nil {
		return false, err
	}
	switch string(ev.Name) {
	case "response.output_text.delta", "response.refusal.delta":
		return false, s.addText(ev.Data, out)
	case "response.output_text.done", "response.refusal.done", "response.content_part.done":
		return false, s.endText(ev.Data, out)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return false, s.addReasoning(ev.Data, out)
	case "response.output_item.added":
		return false, s.addItem(ev.Data, out)
	case "response.function_call_arguments.delta":
		return false, s.addArguments(ev.Data, out)
	case "response.function_call_arguments.done":
		return false, s.endArguments(ev.Data, out)
	case "response.output_item.done":
		return false, s.endItem(ev.Data, out)
	case "response.created":
		return false, s.noteID(ev.Data)
	case "response.completed", "response.done":
		return s.completeAnswer(ev.Data, out)
	case "response.incomplete":
		return s.endIncomplete(ev.Data, out)
	case "response.failed":
		return false, failedResponse(ev.Data)
	case "error":
		return false, errorEvent(ev.Data)
	case "response":
		return s.readWhole(ev.Data, out)
	case "":
		// A server that aborts with its own error sends no event name.
		if r := parseRefusal(ev.Data); r != nil && vendorhttp.WrappedEvent(ev) == nil {
			return false, r.modelError()
		}
		if bytes.Contains(ev.Data, []byte(`"choices":`)) {
			return false, vendorhttp.InvalidRequest("the server answers as Chat Completions does; set api: chat_completions", nil)
		}
		out.Unknown = true
	default:
		out.Unknown = !bytes.HasPrefix(ev.Name, []byte("response.")) || bytes.HasSuffix(ev.Name, []byte(".error"))
	}
	return false, nil
}

// End completes an answer that ends with Chat Completions' end mark instead of its last event.
func (s *responsesStream) End(marked bool, out *vendorhttp.Batch) (bool, error) {
	if !marked || !s.text.seen && len(s.calls.list) == 0 {
		return false, nil
	}
	return s.finishWhole(&responsesAnswer{}, out)
}

// nameEvent ensures that an event has its name; some servers give it only in the data.
func nameEvent(ev *vendorhttp.ServerEvent) error {
	if len(ev.Name) > 0 && string(ev.Name) != "message" {
		return nil
	}
	var typed struct {
		Type   vendorhttp.Text `json:"type"`
		Object vendorhttp.Text `json:"object"`
		Output json.RawMessage `json:"output"`
	}
	err := vendorhttp.DecodeEvent(ev.Data, &typed)
	if typed.Type == "" {
		typed.Type = typed.Object // a whole answer has no type
	}
	if typed.Type == "" && !vendorhttp.IsNothing(typed.Output) {
		typed.Type = "response"
	}
	ev.Name = append(ev.Name[:0], typed.Type...)
	return err
}
