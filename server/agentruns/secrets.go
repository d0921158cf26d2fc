package agentruns

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/service"
)

// secrets are the headers of the tools of a spec: by the number of the tool, and
// by the name of the field that has them.
type secrets map[int]fields

// placeHeaders is where the secrets of a session are kept.
func placeHeaders(sessionID string) string { return sealed.Place(ownKey, sessionID) }

// secretsOf returns the headers in a spec that was checked.
func secretsOf(spec fields) secrets {
	found := make(secrets)
	for i, raw := range toolsOf(spec) {
		var tool fields
		if json.Unmarshal(raw, &tool) != nil {
			continue
		}
		maps.DeleteFunc(tool, func(name string, _ json.RawMessage) bool { return !isHeaders(name) })
		if len(tool) > 0 {
			found[i] = tool
		}
	}
	return found
}

// hideSecrets returns the metadata of a session with a spec: what may be read back of the
// spec, and apart from it what may not, encrypted where there is a key.
func (s *Surface) hideSecrets(sessionID string, spec fields) (json.RawMessage, error) {
	own := map[string]any{ownKey: sessionRecord{Spec: redactSpec(spec)}}
	if found := secretsOf(spec); len(found) > 0 {
		plain, err := json.Marshal(found)
		if err != nil {
			return nil, err
		}
		if own[service.SecretMetadata], err = s.box.Seal(placeHeaders(sessionID), plain); err != nil {
			return nil, err
		}
	}
	return encodeMetadata(own)
}

// revealSpec returns the spec of a session with the headers of its tools. A session
// that was kept before they were kept apart has them in its spec.
func (s *Surface) revealSpec(found *session) (fields, error) {
	var metadata fields
	if err := json.Unmarshal(found.Metadata, &metadata); err != nil {
		return nil, fmt.Errorf("read the metadata of session %s: %w", found.ID, err)
	}
	kept, has := metadata[service.SecretMetadata]
	if !has {
		for _, tool := range secretsOf(found.record.Spec) {
			for _, headers := range tool {
				if areHeadersHidden(headers) { // it was made of an export
					return nil, newInvalid("the session does not have the headers of its tools any more; give tools with the message")
				}
			}
		}
		return found.record.Spec, nil
	}
	plain, err := s.box.Open(placeHeaders(found.ID), kept)
	if err != nil {
		return nil, fmt.Errorf("read the headers of session %s: %w", found.ID, err)
	}
	var all secrets
	if err := json.Unmarshal(plain, &all); err != nil {
		return nil, fmt.Errorf("read the headers of session %s: %w", found.ID, err)
	}
	return all.mergeInto(found.record.Spec)
}

// mergeInto returns a spec with the headers in their places.
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
