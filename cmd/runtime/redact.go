package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writeRedacted is writeJSON with all texts redacted.
func writeRedacted(w io.Writer, v any, redact func(string) string) error {
	var b bytes.Buffer
	if err := writeJSON(&b, v); err != nil {
		return err
	}
	_, err := w.Write(redactJSON(b.Bytes(), redact))
	return err
}

// fixed are the members whose values are words of the runtime itself or made by
// it, never of a configuration, so that they need no redacting.
var fixed = map[string]bool{
	"access": true, "action": true, "code": true, "decision": true, "event_type": true, "field": true, "finish_reason": true,
	"kind": true, "message_id": true, "outcome": true, "reason": true, "session_id": true, "severity": true,
	"status": true, "time": true, "turn_id": true, "type": true,
}

// redactJSON redacts the texts of a JSON document one by one, so that it stays
// what it is: the names of its members, its numbers and what is fixed are left
// alone.
func redactJSON(document []byte, redact func(string) string) []byte {
	out := make([]byte, 0, len(document))
	member := ""
	for len(document) > 0 {
		start := bytes.IndexByte(document, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for ; end < len(document) && document[end] != '"'; end++ {
			if document[end] == '\\' {
				end++
			}
		}
		end = min(end+1, len(document))
		out = append(out, document[:start]...)
		literal := document[start:end]
		document = document[end:]
		switch {
		case bytes.HasPrefix(document, []byte(":")):
			member = string(literal[1 : len(literal)-1])
		case !fixed[member]:
			literal = redactLiteral(literal, redact)
		}
		out = append(out, literal...)
	}
	return append(out, document...)
}

func redactLiteral(literal []byte, redact func(string) string) []byte {
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return literal
	}
	// Short values are redacted where they stand in quotes.
	clean := redact(`"` + text + `"`)
	clean = strings.TrimSuffix(strings.TrimPrefix(clean, `"`), `"`)
	if clean == text {
		return literal
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(clean) != nil {
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
