package agentruns

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/redact"
)

// redactSpec returns a spec for display: without header values, and without the users and
// parameters of URLs.
func redactSpec(spec fields) fields {
	list := toolsOf(spec)
	if list == nil {
		return spec
	}
	for i := range list {
		list[i] = redactTool(list[i])
	}
	hidden, err := json.Marshal(list)
	if err != nil {
		hidden = []byte("[]") // what was decoded encodes
	}
	copied := maps.Clone(spec)
	copied[fieldTools] = hidden
	return copied
}

// toolsOf returns the tools of a spec; nil if it has none.
func toolsOf(spec fields) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(spec[fieldTools], &list) != nil {
		return nil
	}
	return list
}

// isHeaders and isAddress report whether a tool's field has its headers, or a URL. Names are
// compared like in decoders: ignoring case.
func isHeaders(name string) bool { return strings.EqualFold(name, "headers") }

func isAddress(name string) bool {
	return strings.EqualFold(name, "url") || strings.EqualFold(name, "agentCardUrl")
}

// isSecret reports whether a tool's field must be redacted.
func isSecret(name string, value json.RawMessage) bool {
	return isHeaders(name) || isAddress(name) && redact.URL(textOf(value)) != textOf(value)
}

// textOf returns a string value; empty for any other value.
func textOf(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

// isHidden reports whether a field of a tool was redacted, so that the tool cannot be used.
func isHidden(name string, value json.RawMessage) bool {
	if isAddress(name) {
		return strings.Contains(textOf(value), redact.Placeholder)
	}
	var headers map[string]string
	return isHeaders(name) && json.Unmarshal(value, &headers) == nil && slices.Contains(slices.Collect(maps.Values(headers)), redact.Placeholder)
}

// isRedacted reports whether a tool lacks its secrets.
func isRedacted(raw json.RawMessage) bool {
	var tool fields
	if json.Unmarshal(raw, &tool) != nil {
		return false
	}
	for name, value := range tool {
		if isHidden(name, value) {
			return true
		}
	}
	return false
}

// redactTool returns a tool without its secrets.
func redactTool(raw json.RawMessage) json.RawMessage {
	var tool fields
	if json.Unmarshal(raw, &tool) != nil || tool == nil {
		return raw
	}
	for name, value := range tool {
		switch {
		case !isSecret(name, value):
		case isAddress(name):
			tool[name] = encodeJSON(redact.URL(textOf(value)))
		default:
			tool[name] = redactHeaders(value)
		}
	}
	return encodeJSON(tool)
}

func redactHeaders(value json.RawMessage) json.RawMessage {
	var headers map[string]json.RawMessage
	if json.Unmarshal(value, &headers) != nil || headers == nil {
		return encodeJSON(redact.Placeholder)
	}
	for name := range headers {
		headers[name] = encodeJSON(redact.Placeholder)
	}
	return encodeJSON(headers)
}

// encodeJSON encodes a string, or a value made of JSON.
func encodeJSON(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}
