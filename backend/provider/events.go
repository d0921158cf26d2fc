package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxShown limits an event's shown data, in bytes.
const maxShown = 256 << 10

// showEvent forwards one event of the provider. Text and reasoning become parts of the answer;
// events that the loop reports itself are dropped; all others become activities.
func (d *drive) showEvent(e *providerproto.AgentTurnEvent) error {
	if e.GetType() == display.TypeAssistantReset {
		return d.said.takeBack(int64(e.GetData().GetFields()["from_seq"].GetNumberValue()))
	}
	d.said.marks = append(d.said.marks, mark{e.GetSeq(), d.said.whole.Len()})
	kind, phase := kindOf(e)
	isOfTurn := strings.HasPrefix(e.GetType(), "turn.")
	isOwnCall := kind == "tool" && d.known[clip.Clean(cmp.Or(e.GetDisplay().GetRef(), dataText(e, "tool_call_id", "toolCallId", "call_id", "callId")))]
	isTranslated := slices.Contains(translatedKinds, kind) || isOwnCall || isOfTurn && kind != "tool"
	isRaw := isTranslated && hasMore(e)
	if isRaw {
		d.showActivity(e, true)
	}
	text := cmp.Or(e.GetDisplay().GetText(), dataText(e, "text", "delta", "content"))
	switch {
	case kind == "text" && phase == "delta":
		return d.said.say(text)
	case kind == "text" && phase == "completed":
		return d.said.complete(text)
	case kind == "reasoning" && (phase == "delta" || !d.said.thought):
		d.said.thought = true
		return d.said.pass(model.Event{Type: model.EventReasoning, Delta: clip.Clean(text)})
	case kind == "reasoning", kind == "interaction", kind == "status":
		return nil
	case kind == "error":
		d.said.failure = clip.Clean(cmp.Or(e.GetDisplay().GetText(), dataText(e, "error", "message", "status_message")))
		if isOfTurn {
			return nil
		}
	case isOwnCall: // the loop shows it
		return nil
	case kind == "" && isOfTurn:
		return nil
	}
	if !isRaw {
		d.showActivity(e, false)
	}
	return nil
}

// translatedKinds are the kinds of events that always become events of the turn.
var translatedKinds = []string{"text", "reasoning", "interaction", "status"}

// translatedFields are the data fields of known event types. The turn's events contain their
// values.
var translatedFields = []string{
	"text", "delta", "content", "error", "message", "status", "status_message", "reason", "session_id", "model", "interaction_id",
	"tool_call_id", "tool_id", "tool_name", "arguments", "output",
}

// hasMore reports whether an event has a provider-specific type or data that the turn's events do
// not show.
func hasMore(e *providerproto.AgentTurnEvent) bool {
	bare := &providerproto.AgentTurnEvent{Type: e.GetType()}
	if kind, _ := kindOf(bare); kind == "" {
		return true
	}
	for name := range e.GetData().GetFields() {
		if !slices.Contains(translatedFields, name) {
			return true
		}
	}
	return false
}

// kindOf returns the kind and phase of an event: from its display, or else from its type.
func kindOf(e *providerproto.AgentTurnEvent) (kind, phase string) {
	if s := e.GetDisplay(); s != nil {
		return strings.TrimSpace(s.GetKind()), strings.TrimSpace(s.GetPhase())
	}
	switch e.GetType() {
	case "assistant.delta", "agent.message.delta":
		return "text", "delta"
	case "assistant.completed", "assistant.message":
		return "text", "completed"
	case "reasoning.delta":
		return "reasoning", "delta"
	case "reasoning.completed":
		return "reasoning", "completed"
	case "tool.started", "tool.completed", "tool.failed":
		return "tool", strings.TrimPrefix(e.GetType(), "tool.")
	case "interaction.requested", "interaction.resolved":
		return "interaction", strings.TrimPrefix(e.GetType(), "interaction.")
	case "turn.failed":
		return "error", "failed"
	case "turn.started", "turn.completed", "turn.canceled":
		return "status", strings.TrimPrefix(e.GetType(), "turn.")
	default:
		return "", ""
	}
}

// dataText returns the first of the named event fields that is a text.
func dataText(e *providerproto.AgentTurnEvent, names ...string) string {
	for _, name := range names {
		if v := e.GetData().GetFields()[name]; v.GetStringValue() != "" {
			return v.GetStringValue()
		}
	}
	return ""
}

// showActivity shows an event unchanged. A raw one accompanies events of the turn that show the
// same: it is private and has no display.
func (d *drive) showActivity(e *providerproto.AgentTurnEvent, raw bool) {
	shown := display.ForeignEvent{
		ID: clip.Clean(e.GetId()), Seq: e.GetSeq(), Type: clip.Clean(e.GetType()), Source: clip.Clean(e.GetSource()),
		Visibility: clip.Clean(e.GetVisibility()),
	}
	if data := e.GetData(); data != nil {
		shown.Data = jsonOf(data)
	}
	if given := e.GetDisplay(); raw {
		shown.Visibility = display.Private
	} else if given != nil {
		shown.Display = jsonOf(given)
	}
	d.host.Emit(&event.ActivitySnapshot{
		MessageID: fmt.Sprintf("%s/e%d", d.at.TurnID, e.GetSeq()), ActivityType: display.ForeignActivity, Content: encodeRecord(&shown),
	})
}

// jsonOf returns a message as JSON; null if it is too large or cannot be encoded.
func jsonOf(m proto.Message) json.RawMessage {
	data, err := protojson.Marshal(m)
	if err != nil || len(data) > maxShown {
		return json.RawMessage("null")
	}
	return json.RawMessage(clip.Clean(string(data)))
}
