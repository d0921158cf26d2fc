package surfacekit

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/service"
)

// Own is the member of the metadata of sessions and turns that belongs to a surface.
type Own string

// Encode returns metadata with the value of the surface. The error is a
// *service.InvalidError for more than service.MaxMetadata.
func (o Own) Encode(value any) (json.RawMessage, error) {
	return EncodeMetadata(map[string]any{string(o): value})
}

// EncodeMetadata encodes metadata, whose size is limited as in Own.Encode.
func EncodeMetadata(metadata map[string]any) (json.RawMessage, error) {
	data, err := json.Marshal(metadata)
	if err == nil && len(data) > service.MaxMetadata {
		return nil, &service.InvalidError{Field: "metadata", Problem: fmt.Sprintf("has %d bytes; %d are allowed", len(data), service.MaxMetadata)}
	}
	return data, err
}

// Decode reads the value of the surface; false without one.
func (o Own) Decode(metadata json.RawMessage, value any) bool {
	var all map[string]json.RawMessage
	if len(metadata) == 0 || json.Unmarshal(metadata, &all) != nil || len(all[string(o)]) == 0 {
		return false
	}
	return json.Unmarshal(all[string(o)], value) == nil
}
