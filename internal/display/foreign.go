package display

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// ForeignActivity is the type of activities that show the work of a hosted agent provider. Their
// content is a ForeignEvent.
const ForeignActivity = "provider_event"

// ForeignEvent is an event of a hosted provider, with the provider's display.
type ForeignEvent struct {
	ID         string          `json:"id,omitempty"`
	Seq        int64           `json:"seq"`
	Type       string          `json:"type"`
	Source     string          `json:"source,omitempty"`
	Visibility string          `json:"visibility,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Display    json.RawMessage `json:"display,omitempty"`
}

// ownPrefixes are the prefixes of the turn's own event types. A provider's event of such a type is
// not one of the turn.
var ownPrefixes = []string{"turn.", "assistant.", "interaction.", "agent.", "artifact.", "stream.", runtimePrefix}

// foreignPrefix is prepended to the types of events that cannot keep their own.
const foreignPrefix = "provider."

// foreignDraft returns a provider's original event: its type, data and display. ok is false for an
// activity of another type.
func foreignDraft(a *event.ActivitySnapshot) (d draft, ok bool) {
	var e ForeignEvent
	if a.ActivityType != ForeignActivity || json.Unmarshal(a.Content, &e) != nil {
		return draft{}, false
	}
	d = draft{typ: e.Type, private: e.Visibility == Private, data: rawjson.Object(e.Data)}
	if d.typ == "" {
		d.typ = foreignPrefix + "event"
	}
	for _, prefix := range ownPrefixes {
		if strings.HasPrefix(d.typ, prefix) {
			d.typ = foreignPrefix + d.typ
			break
		}
	}
	given := new(Display)
	if len(e.Display) > 0 && string(e.Display) != "null" && json.Unmarshal(e.Display, given) == nil {
		Normalize(e.Type, given)
		d.display = given
	}
	return d, true
}
