package runtime

import (
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// frame joins the deltas that follow on each other and belong together, so that
// a log does not have an event for each token.
type frame struct {
	kind     event.Type
	id, name string
	text     strings.Builder
	at       time.Time
}

// delta returns what an event adds to which text. It is false for an event that
// adds to none.
func delta(data event.Data) (id, name, text string, ok bool) {
	switch d := data.(type) {
	case *event.TextDelta:
		return "", "", d.Delta, true
	case *event.ReasoningDelta:
		return "", "", d.Delta, true
	case *event.ToolCallDelta:
		return d.ID, "", d.Delta, true
	case *event.ToolCallStreamDelta:
		return d.ID, d.Name, d.Delta, true
	default:
		return "", "", "", false
	}
}

// begin begins a frame with an event; false when the event is no delta.
func (f *frame) begin(ev *event.Event) bool {
	id, name, text, ok := delta(ev.Data)
	if !ok {
		return false
	}
	f.kind, f.id, f.name, f.at = ev.Data.Type(), id, name, ev.Time
	f.text.WriteString(text)
	return true
}

// add adds an event to the frame; false when it does not belong there.
func (f *frame) add(ev *event.Event) bool {
	if f.kind == "" || ev.Data == nil || f.kind != ev.Data.Type() {
		return false
	}
	id, _, text, _ := delta(ev.Data)
	if id != f.id || f.text.Len()+len(text) > frameSize {
		return false
	}
	f.text.WriteString(text)
	return true
}

func (f *frame) size() int { return f.text.Len() }

// end returns the event that the frame came to, if there is one.
func (f *frame) end() (event.Event, bool) {
	if f.kind == "" {
		return event.Event{}, false
	}
	ev := event.Event{Time: f.at}
	switch text := f.text.String(); f.kind {
	case event.TypeTextDelta:
		ev.Data = &event.TextDelta{Delta: text}
	case event.TypeReasoningDelta:
		ev.Data = &event.ReasoningDelta{Delta: text}
	case event.TypeToolCallDelta:
		ev.Data = &event.ToolCallDelta{ID: f.id, Delta: text}
	default:
		ev.Data = &event.ToolCallStreamDelta{ID: f.id, Name: f.name, Delta: text}
	}
	*f = frame{}
	return ev, true
}
