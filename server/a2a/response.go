package a2a

import (
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// flushSize is how much text is gathered before it is sent, in bytes.
const flushSize = 4 << 10

// response collects the text of the answer and sends it in a few pieces, as one artifact. The
// answer is the model's last message: when a new message starts, its text replaces the sent text.
type response struct {
	text []byte
	// sent is how much of the text was sent, and mark how much is certain: the text after it may be
	// retracted.
	sent, mark int
	// stale is set when the next text begins a new answer.
	stale bool
	// replace is set if the next piece replaces the previous ones, and shown if there were any.
	replace, shown bool
	// data converts the whole answer to one part, which is sent when complete; nil for text
	// answers, which are sent as they arrive.
	data func(answer string) *a2a.Part
	// media is the media type of the text, if it is not plain text.
	media string
}

// beginAnswer notes that a new answer may begin.
func (r *response) beginAnswer() { r.stale = true }

// appendText adds to the answer.
func (r *response) appendText(delta string) {
	if r.stale {
		r.stale, r.replace = false, true
		r.text, r.sent, r.mark = r.text[:0], 0, 0
	}
	r.text = append(r.text, delta...)
}

// keepText records that the current text will not be retracted.
func (r *response) keepText() { r.mark = len(r.text) }

// dropUnsettled drops text that may be retracted.
func (r *response) dropUnsettled() {
	if r.stale {
		return
	}
	r.text = r.text[:min(r.mark, len(r.text))]
	if r.sent > len(r.text) {
		r.sent, r.replace = 0, true
	}
}

// unsentBytes returns the number of unsent bytes.
func (r *response) unsentBytes() int {
	if r.data != nil {
		return 0
	}
	return len(r.text) - r.sent
}

// flushText returns the events that send the unsent text.
func (r *response) flushText(info a2a.TaskInfo) []a2a.Event {
	var events []a2a.Event
	for r.unsentBytes() > 0 {
		rest := string(r.text[r.sent:])
		n := textChunk(rest, maxChunk)
		r.sent += n
		events = append(events, r.pieceEvent(info, rest[:n]))
	}
	return events
}

// pieceEvent returns the event for a piece.
func (r *response) pieceEvent(info a2a.TaskInfo, text string) *a2a.TaskArtifactUpdateEvent {
	part := a2a.NewTextPart(text)
	part.MediaType = r.media
	ev := &a2a.TaskArtifactUpdateEvent{
		TaskID: info.TaskID, ContextID: info.ContextID, Append: r.shown && !r.replace, Artifact: responseArtifact(part),
	}
	r.shown, r.replace = true, false
	return ev
}

// finishAnswer returns the events that end the given answer. Data that does not fit into one event
// is sent as its JSON, in pieces of text.
func (r *response) finishAnswer(info a2a.TaskInfo, answer string) []a2a.Event {
	if answer != "" && answer != string(r.text) {
		r.text, r.sent, r.replace = []byte(answer), 0, true
	}
	if r.data != nil && len(r.text) > 0 {
		part := r.data(string(r.text))
		if encoded := encodedData(part); len(encoded) > maxChunk {
			r.text, r.sent, r.replace, r.media, part = encoded, 0, true, part.MediaType, nil
		}
		if part != nil {
			return []a2a.Event{&a2a.TaskArtifactUpdateEvent{
				TaskID: info.TaskID, ContextID: info.ContextID, Artifact: responseArtifact(part), LastChunk: true,
			}}
		}
	}
	r.data = nil
	events := r.flushText(info)
	if len(events) == 0 && r.shown {
		events = append(events, r.pieceEvent(info, ""))
	}
	if len(events) > 0 {
		if last, ok := events[len(events)-1].(*a2a.TaskArtifactUpdateEvent); ok {
			last.LastChunk = true
		}
	}
	return events
}

// encodedData returns the JSON of a data part; nil for no part.
func encodedData(part *a2a.Part) []byte {
	if part == nil {
		return nil
	}
	encoded, err := json.Marshal(part.Data())
	if err != nil {
		return nil
	}
	return encoded
}

// takeArtifact returns the current text as one artifact, and marks it as sent; nil if absent, or it
// exceeds limit bytes.
func (r *response) takeArtifact(limit int) *a2a.Artifact {
	text := string(r.text)
	if r.data != nil || text == "" || limit <= 0 || textChunk(text, limit) < len(text) {
		return nil
	}
	r.sent, r.shown, r.replace = len(r.text), true, false
	return responseArtifact(a2a.NewTextPart(text))
}
