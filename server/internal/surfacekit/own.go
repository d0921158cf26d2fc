package surfacekit

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/service"
)

// Own is a surface's member in the metadata of sessions and turns.
type Own string

// Encode returns metadata with the surface's value. The error is a *service.InvalidError if it
// exceeds service.MaxMetadata.
func (o Own) Encode(value any) (json.RawMessage, error) {
	return EncodeMetadata(map[string]any{string(o): value})
}

// EncodeMetadata encodes metadata with the size limit of Own.Encode.
func EncodeMetadata(metadata map[string]any) (json.RawMessage, error) {
	data, err := json.Marshal(metadata)
	if err == nil && len(data) > service.MaxMetadata {
		return nil, &service.InvalidError{Field: "metadata", Problem: fmt.Sprintf("has %d bytes; %d are allowed", len(data), service.MaxMetadata)}
	}
	return data, err
}

// Decode reads the surface's value; false if absent.
func (o Own) Decode(metadata json.RawMessage, value any) bool {
	var all map[string]json.RawMessage
	if len(metadata) == 0 || json.Unmarshal(metadata, &all) != nil || len(all[string(o)]) == 0 {
		return false
	}
	return json.Unmarshal(all[string(o)], value) == nil
}
