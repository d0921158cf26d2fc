package agentruns

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/agentruntime/agentruntime/internal/redact"
)

// redactSpec returns a spec for display: without the values of headers.
func redactSpec(spec fields) fields {
	list := toolsOf(spec)
	if list == nil {
		return spec
	}
	for i := range list {
		list[i] = withoutHeaders(list[i])
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

// isHeaders reports whether a field of a tool has its headers. Names are compared
// as decoders do: without regard to case.
func isHeaders(name string) bool { return strings.EqualFold(name, "headers") }

// areHeadersHidden reports whether the values of headers are left out, as shown leaves them.
func areHeadersHidden(headers json.RawMessage) bool {
	var values map[string]string
	if json.Unmarshal(headers, &values) != nil {
		return false
	}
	for _, value := range values {
		if value == redact.Placeholder {
			return true
		}
	}
	return false
}

// withoutHeaders returns a tool without the values of its headers.
func withoutHeaders(raw json.RawMessage) json.RawMessage {
	var tool fields
	if json.Unmarshal(raw, &tool) != nil || tool == nil {
		return raw
	}
	for name := range tool {
		if !isHeaders(name) {
			continue
		}
		var headers map[string]json.RawMessage
		if json.Unmarshal(tool[name], &headers) != nil || headers == nil {
			tool[name] = json.RawMessage(`"` + redact.Placeholder + `"`)
			continue
		}
		for header := range headers {
			headers[header] = json.RawMessage(`"` + redact.Placeholder + `"`)
		}
		hidden, err := json.Marshal(headers)
		if err != nil {
			hidden = []byte("{}")
		}
		tool[name] = hidden
	}
	out, err := json.Marshal(tool)
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}
