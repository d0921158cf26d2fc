package agentruns

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/agentruntime/agentruntime/internal/sealed"
)

// secrets are the headers of the tools of a spec, and the URLs with parameters: by the number of
// the tool, and by the name of the field that has them.
type secrets map[int]fields

// placeHeaders is where the secrets of a session are kept.
func placeHeaders(sessionID string) string { return sealed.Place(ownKey, sessionID) }

// secretsOf returns the secrets in a spec that was checked.
func secretsOf(spec fields) secrets {
	found := make(secrets)
	for i, raw := range toolsOf(spec) {
		var tool fields
		if json.Unmarshal(raw, &tool) != nil {
			continue
		}
		maps.DeleteFunc(tool, func(name string, value json.RawMessage) bool { return !isSecret(name, value) })
		if len(tool) > 0 {
			found[i] = tool
		}
	}
	return found
}

// mergeInto returns a spec with the secrets in their places.
func (s secrets) mergeInto(spec fields) (fields, error) {
	list := toolsOf(spec)
	for i := range list {
		if len(s[i]) == 0 {
			continue
		}
		var tool fields
		if err := json.Unmarshal(list[i], &tool); err != nil {
			return nil, fmt.Errorf("read tools[%d]: %w", i, err)
		}
		maps.Copy(tool, s[i])
		whole, err := json.Marshal(tool)
		if err != nil {
			return nil, fmt.Errorf("write tools[%d]: %w", i, err)
		}
		list[i] = whole
	}
	all, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write the tools: %w", err)
	}
	spec = maps.Clone(spec)
	spec[fieldTools] = all
	return spec, nil
}
