package agentruns

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/agentruntime/agentruntime/internal/sealed"
)

// secrets are the headers of a spec's tools and their URLs with parameters, by tool index and field
// name.
type secrets map[int]fields

// placeHeaders returns the place of a session's sealed secrets.
func placeHeaders(sessionID string) string { return sealed.Place(ownKey, sessionID) }

// secretsOf returns the secrets in a validated spec.
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

// mergeInto returns a copy of the spec with its secrets restored.
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
