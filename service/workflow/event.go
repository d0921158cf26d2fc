package workflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/service"
	"github.com/google/uuid"
)

// maxEvent bounds the data of an event, in bytes.
const maxEvent = 1 << 20

// Event is something that happened, which may begin runs.
type Event struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Source      string `json:"source,omitempty"`
	Subject     string `json:"subject,omitempty"`
	SpecVersion string `json:"specVersion,omitempty"`
	// Time is when it happened.
	Time            time.Time                  `json:"time,omitzero"`
	DataContentType string                     `json:"dataContentType,omitempty"`
	Data            json.RawMessage            `json:"data,omitempty"`
	Extensions      map[string]json.RawMessage `json:"extensions,omitempty"`
}

// complete checks an event and fills in optional fields.
func (ev *Event) complete(now time.Time) error {
	switch {
	case ev.Type == "":
		return &service.InvalidError{Field: "type", Problem: "is required"}
	case len(ev.Data) > maxEvent:
		return &service.InvalidError{Field: "data", Problem: fmt.Sprintf("has %d bytes; %d are allowed", len(ev.Data), maxEvent)}
	case ev.SpecVersion != "" && ev.SpecVersion != "1.0":
		return &service.InvalidError{Field: "specVersion", Problem: fmt.Sprintf("unsupported version %q; use 1.0", ev.SpecVersion)}
	}
	for name, text := range map[string]string{"id": ev.ID, "type": ev.Type, "source": ev.Source, "subject": ev.Subject, "dataContentType": ev.DataContentType} {
		if len(text) > 1024 || !utf8.ValidString(text) || bytes.IndexByte([]byte(text), 0) >= 0 {
			return &service.InvalidError{Field: name, Problem: "must be text of at most 1024 bytes"}
		}
	}
	ev.ID, ev.SpecVersion = cmp.Or(ev.ID, uuid.Must(uuid.NewV7()).String()), "1.0"
	if ev.Time.IsZero() {
		ev.Time = now
	}
	return nil
}
