package work

import (
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
)

const (
	// frameSize is the size limit, in bytes, of an event that combines text deltas.
	frameSize = 4 << 10
	// maxDelta is the size limit, in bytes, of an event with one larger delta: surfaces write
	// deltas up to twice, with up to six bytes of JSON per byte, in frames of at most 1 MiB.
	maxDelta = 64 << 10
)

// frame joins consecutive deltas of the same text, so that a log does not have an event for each
// token.
type frame struct {
	kind     event.Type
	id, name string
	path     []string
	text     strings.Builder
	at       time.Time
}

// textDelta returns the text that an event appends and the text it belongs to; false for other
// events.
func textDelta(data event.Data) (id, name, text string, ok bool) {
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

// beginWith starts a frame with an event; false when the event is not a delta.
func (f *frame) beginWith(ev *event.Event) bool {
	id, name, text, ok := textDelta(ev.Data)
	if !ok {
		return false
	}
	f.kind, f.id, f.name, f.at = ev.Data.Type(), id, name, ev.Time
	f.text.WriteString(text)
	return true
}

// appendEvent adds an event to the frame; false when it does not belong there.
func (f *frame) appendEvent(ev *event.Event) bool {
	if f.kind == "" || ev.Data == nil || f.kind != ev.Data.Type() {
		return false
	}
	id, _, text, _ := textDelta(ev.Data)
	if id != f.id || f.text.Len()+len(text) > frameSize {
		return false
	}
	f.text.WriteString(text)
	return true
}

func (f *frame) size() int { return f.text.Len() }

// flushTo emits the frame as events: one, or several when a single delta exceeds the maximum
// event size.
func (f *frame) flushTo(add func(*event.Event)) {
	for text := f.text.String(); f.kind != ""; {
		piece := clip.Head(text, maxDelta)
		add(&event.Event{Time: f.at, Path: f.path, Data: f.deltaData(piece)})
		if text = text[len(piece):]; text == "" {
			break
		}
	}
	*f = frame{}
}

// deltaData returns a delta of the frame's text.
func (f *frame) deltaData(text string) event.Data {
	switch f.kind {
	case event.TypeTextDelta:
		return &event.TextDelta{Delta: text}
	case event.TypeReasoningDelta:
		return &event.ReasoningDelta{Delta: text}
	case event.TypeToolCallDelta:
		return &event.ToolCallDelta{ID: f.id, Delta: text}
	default:
		return &event.ToolCallStreamDelta{ID: f.id, Name: f.name, Delta: text}
	}
}
