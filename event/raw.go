package event

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Raw JSON in an event comes from models, tools and plugins, and may be invalid. Each kind of
// event with raw JSON repairs it when encoding, so that the event is not lost and every reader
// can decode it.

// MarshalJSON writes the call.
func (d ToolCallReady) MarshalJSON() ([]byte, error) {
	type plain ToolCallReady
	d.Arguments = rawjson.Repair(d.Arguments)
	return json.Marshal(plain(d))
}

// MarshalJSON writes the activity.
func (d ActivitySnapshot) MarshalJSON() ([]byte, error) {
	type plain ActivitySnapshot
	d.Content = rawjson.Repair(d.Content)
	return json.Marshal(plain(d))
}

// MarshalJSON writes the state.
func (d StateSnapshot) MarshalJSON() ([]byte, error) {
	type plain StateSnapshot
	var repaired map[string]json.RawMessage
	if d.Snapshot != nil {
		repaired = make(map[string]json.RawMessage, len(d.Snapshot))
	}
	for key, value := range d.Snapshot {
		repaired[key] = rawjson.Repair(value)
	}
	d.Snapshot = repaired
	return json.Marshal(plain(d))
}

// MarshalJSON writes the request.
func (d InteractionRequest) MarshalJSON() ([]byte, error) {
	type plain InteractionRequest
	d.Arguments, d.Parameters, d.ResponseSchema = rawjson.Repair(d.Arguments), rawjson.Repair(d.Parameters), rawjson.Repair(d.ResponseSchema)
	return json.Marshal(plain(d))
}

// MarshalJSON writes the answer.
func (d ToolCallResumed) MarshalJSON() ([]byte, error) {
	type plain ToolCallResumed
	d.Result = rawjson.Repair(d.Result)
	return json.Marshal(plain(d))
}

// MarshalJSON writes the operation.
func (d PatchOperation) MarshalJSON() ([]byte, error) {
	type plain PatchOperation
	d.Value = rawjson.Repair(d.Value)
	return json.Marshal(plain(d))
}
