package work

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// EncodeMessages encodes messages for the store.
func EncodeMessages(messages []model.Message) ([][]byte, error) {
	list := make([][]byte, len(messages))
	for i := range messages {
		data, err := json.Marshal(messages[i])
		if err != nil {
			return nil, err
		}
		list[i] = data
	}
	return list, nil
}

// DecodeMessages reads stored messages. The error names the first unreadable one.
func DecodeMessages(list [][]byte) ([]model.Message, error) {
	messages := make([]model.Message, len(list))
	for i, data := range list {
		if err := json.Unmarshal(data, &messages[i]); err != nil {
			return nil, fmt.Errorf("decode message %d: %w", i+1, err)
		}
	}
	return slices.Clip(messages), nil
}

// EncodeArtifacts encodes a session's list of artifacts for the store, without their data; nil if
// absent.
func EncodeArtifacts(list []tools.Artifact) (json.RawMessage, error) {
	if len(list) == 0 {
		return nil, nil
	}
	for i := range list {
		list[i].Data = nil
	}
	return json.Marshal(list)
}
