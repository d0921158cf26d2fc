package responses

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// sessionRecord is the data that a session stores for the surface.
type sessionRecord struct {
	// Deleted are the ids of deleted responses.
	Deleted []string `json:"deleted,omitempty"`
	// Metadata is the metadata of a conversation. Items are the items that clients added to it;
	// deleted ones become null, because turns count them.
	Metadata map[string]string `json:"metadata,omitempty"`
	Items    []json.RawMessage `json:"items,omitempty"`
}

// updateRecord changes the record of a session with a function, which is called again if another
// request changes the record concurrently.
func updateRecord(c *run.Call, id string, change func(*sessionRecord) error) error {
	return c.Service.ChangeSessionMetadata(c.Context(), c.Caller, id, func(metadata json.RawMessage) (json.RawMessage, error) {
		var r sessionRecord
		run.Own.Decode(metadata, &r) // without a record, r stays empty
		if err := change(&r); err != nil {
			return nil, err
		}
		return run.Encode(r, "items")
	})
}
