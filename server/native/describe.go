package native

import (
	"encoding/json"
	"reflect"
	"time"
)

// eventType is the type of the events in a stream.
var eventType = reflect.TypeFor[eventView]()

// eventView describes an event.Record.
type eventView struct {
	_ struct{} `additionalProperties:"true" jsonschema:"A stored event with the fields of its type."`

	Seq       uint64    `json:"seq" minimum:"1"`
	Time      time.Time `json:"time"`
	EventType string    `json:"event_type"`
	Path      []string  `json:"path,omitempty" jsonschema:"Calls that led to the delegate of the event."`
	TurnID    string    `json:"turn_id"`
	SessionID string    `json:"session_id,omitempty"`
}

// exportView describes a service.SessionExport.
type exportView struct {
	_ struct{} `additionalProperties:"true"`

	Version    int               `json:"version" const:"1"`
	ExportedAt time.Time         `json:"exported_at,omitzero"`
	Session    json.RawMessage   `json:"session" type:"object"`
	Snapshots  []json.RawMessage `json:"snapshots,omitempty" items:"{'type':'object'}"`
	Artifacts  []json.RawMessage `json:"artifacts,omitempty" items:"{'type':'object'}"`
}

// errorView describes the body of an error.
type errorView struct {
	Error struct {
		Code      string          `json:"code" examples:"['not_found','agent_not_found','invalid_request','invalid_cursor','exists','key_conflict','busy','wrong_state','answered','unfit_answer']"`
		Message   string          `json:"message"`
		RequestID string          `json:"request_id"`
		Details   json.RawMessage `json:"details,omitempty" type:"object" jsonschema:"Machine-readable form of the message."`
	} `json:"error"`
}
