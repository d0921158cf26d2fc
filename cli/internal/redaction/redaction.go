// Package redaction hides secrets in JSON documents and log lines.
package redaction

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Write is WriteJSON with all texts redacted.
func Write(w io.Writer, v any, redact func(string) string) error {
	var b bytes.Buffer
	if err := WriteJSON(&b, v); err != nil {
		return err
	}
	_, err := w.Write(JSON(b.Bytes(), redact))
	return err
}

// fixed are the members whose values are the runtime's own, never a configuration's, so that they
// need no redaction.
var fixed = map[string]bool{
	"access": true, "action": true, "code": true, "decision": true, "event_type": true, "field": true, "finish_reason": true,
	"kind": true, "message_id": true, "outcome": true, "reason": true, "session_id": true, "severity": true,
	"status": true, "time": true, "turn_id": true, "type": true,
}

// JSON redacts the texts of a JSON document one by one. Member names, numbers and fixed
// values are kept, so the document keeps its form.
func JSON(document []byte, redact func(string) string) []byte {
	return redactTexts(document, func(member string, literal []byte) []byte {
		if fixed[member] {
			return literal
		}
		return redactLiteral(literal, redact)
	}, nil)
}

// logNumber matches a number in a log line, or the rest of one.
var logNumber = regexp.MustCompile(`-?\d[\d.eE+-]*`)

// LogLine redacts a JSON log line and keeps it valid JSON. Unlike in the runtime's own
// documents, plugins and tools choose the members of a line, so names and numbers may contain
// secrets too.
func LogLine(line []byte, redact func(string) string) []byte {
	number := func(n []byte) []byte {
		if redact(string(n)) == string(n) {
			return n
		}
		return []byte(`"***"`)
	}
	return redactTexts(line, func(member string, literal []byte) []byte {
		switch member {
		case "time", "level":
			return literal
		}
		return redactLiteral(literal, redact)
	}, func(between []byte) []byte { return logNumber.ReplaceAllFunc(between, number) })
}

// redactTexts passes each text value and its member's name to text. If between is set, it also
// passes member names to text, and the parts between texts to between.
func redactTexts(document []byte, text func(member string, literal []byte) []byte, between func([]byte) []byte) []byte {
	all := between != nil
	if !all {
		between = func(part []byte) []byte { return part }
	}
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
		out = append(out, between(document[:start])...)
		literal := document[start:end]
		document = document[end:]
		switch {
		case bytes.HasPrefix(document, []byte(":")):
			member = string(literal[1 : len(literal)-1])
			if all {
				literal = text("", literal)
			}
		default:
			literal = text(member, literal)
		}
		out = append(out, literal...)
	}
	return append(out, between(document)...)
}

func redactLiteral(literal []byte, hide func(string) string) []byte {
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return literal
	}
	clean := redact.Quoted(text, hide)
	if clean == text {
		return literal
	}
	encoded, _ := rawjson.Marshal(clean) // a text always encodes
	return encoded
}

// keptRedactions is the number of configurations whose secrets are kept out of the log: those that
// turns in flight may still use.
const keptRedactions = 16

// Set keeps the secrets of several configurations out of the output. It is safe for
// concurrent use, but only one goroutine may change it.
type Set struct {
	files atomic.Pointer[[]*config.File]
}

// NewSet returns the secrets of a configuration.
func NewSet(f *config.File) *Set {
	r := new(Set)
	r.files.Store(&[]*config.File{f})
	return r
}

// Add adds the secrets of another configuration.
func (r *Set) Add(f *config.File) {
	files := append(slices.Clone(*r.files.Load()), f)
	files = files[max(0, len(files)-keptRedactions):]
	r.files.Store(&files)
}

// Drop removes an unused configuration.
func (r *Set) Drop(f *config.File) {
	files := slices.DeleteFunc(slices.Clone(*r.files.Load()), func(one *config.File) bool { return one == f })
	r.files.Store(&files)
}

// Redact returns text without the secrets, newest configuration first.
func (r *Set) Redact(text string) string {
	for _, f := range slices.Backward(*r.files.Load()) {
		text = f.Redact(text)
	}
	return text
}
