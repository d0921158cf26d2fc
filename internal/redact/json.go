package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Quoted applies f to a quoted text, because f may replace short secrets only in quotes.
func Quoted(text string, f func(string) string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(f(`"`+text+`"`), `"`), `"`)
}

// JSON applies f to the texts, names and numbers in a JSON value, and keeps it valid. It returns
// data without secrets unchanged, and redacts invalid JSON as text.
func JSON(data []byte, f func(string) string) []byte {
	escaped := bytes.IndexByte(data, '\\') >= 0
	if !escaped && f(string(data)) == string(data) {
		return data
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if !json.Valid(data) || decoder.Decode(&value) != nil {
		return []byte(f(string(data)))
	}
	r := valueRedactor{redact: f}
	value = r.redactValue(value)
	if !r.changed {
		return data
	}
	clean, _ := rawjson.Marshal(value) // it was decoded from JSON
	return clean
}

// valueRedactor redacts a decoded JSON value.
type valueRedactor struct {
	redact  func(string) string
	changed bool
}

func (r *valueRedactor) redactText(text string) string {
	clean := Quoted(text, r.redact)
	r.changed = r.changed || clean != text
	return clean
}

func (r *valueRedactor) redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return r.redactText(v)
	case json.Number:
		if clean := r.redact(v.String()); clean != v.String() {
			r.changed = true
			return clean
		}
	case []any:
		for i := range v {
			v[i] = r.redactValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, value := range v {
			clean[r.redactText(name)] = r.redactValue(value)
		}
		return clean
	}
	return v
}
