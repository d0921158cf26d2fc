package agents

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/model"
)

// messageMetadata is this protocol's model.Message.Metadata.
type messageMetadata struct {
	Agents extras `json:"agents"`
}

// extras are a message's fields apart from its content. No model sees them.
type extras struct {
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	// Parts are the extras of parts by their index.
	Parts map[int]partExtras `json:"parts,omitempty"`
}

// partExtras are the extras of a text or file part.
type partExtras struct {
	Data     json.RawMessage            `json:"data,omitempty"`
	Custom   map[string]json.RawMessage `json:"custom,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// extrasOf returns the stored extras of a message, or nil. Only texts and files have metadata from
// clients.
func extrasOf(in *wire.Message) json.RawMessage {
	kept := extras{Metadata: in.Metadata}
	for i := range in.Content {
		part := &in.Content[i]
		if part.Text == nil && part.Media == nil || part.Data == nil && len(part.Custom) == 0 && len(part.Metadata) == 0 {
			continue
		}
		if kept.Parts == nil {
			kept.Parts = make(map[int]partExtras)
		}
		kept.Parts[i] = partExtras{part.Data, part.Custom, part.Metadata}
	}
	if len(kept.Metadata) == 0 && kept.Parts == nil {
		return nil
	}
	encoded, err := json.Marshal(messageMetadata{kept})
	if err != nil {
		return nil // unreachable: it was JSON
	}
	return encoded
}

// addExtras adds the stored extras to a message.
func addExtras(kept *model.Message, out *wire.Message) {
	if len(kept.Metadata) == 0 {
		return
	}
	var read messageMetadata
	if json.Unmarshal(kept.Metadata, &read) != nil {
		return // not of this protocol
	}
	out.Metadata = read.Agents.Metadata
	for i, extra := range read.Agents.Parts {
		if i < 0 || i >= len(out.Content) {
			continue
		}
		if part := &out.Content[i]; part.Text != nil || part.Media != nil {
			part.Data, part.Custom, part.Metadata = extra.Data, extra.Custom, extra.Metadata
		}
	}
}
