package config

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

const (
	// minRedacted is the minimum length, in bytes, of hidden values to replace wherever they occur;
	// shorter ones are replaced only in quotes.
	minRedacted = 6
	// prefixRedacted is the minimum length of hidden values whose prefixes are also replaced,
	// because messages truncate long values.
	prefixRedacted = 24
	// secretShown replaces a secret written in the file.
	secretShown = "***"
)

// redactor replaces values that must not be shown: expansions of variables and files, and the
// secrets of a file.
type redactor struct {
	values []hiddenValue
	known  map[string]bool
}

// hiddenValue is a hidden value with its replacement.
type hiddenValue struct{ value, shown string }

// addValue adds a value and its encoded forms.
func (r *redactor) addValue(v hiddenValue) {
	if v.value == "" || r.known[v.value] {
		return
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	quoted := strconv.Quote(v.value)
	encoded := encodeJSON(v.value)
	for _, spelling := range []string{v.value, quoted[1 : len(quoted)-1], encoded, encodeJSON(encoded), url.QueryEscape(v.value), url.PathEscape(v.value)} {
		if !r.known[spelling] {
			r.known[spelling] = true
			r.values = append(r.values, hiddenValue{spelling, v.shown})
		}
	}
}

// addSecret adds a secret that is written in a file.
func (r *redactor) addSecret(text string) { r.addValue(hiddenValue{text, secretShown}) }

// encodeJSON encodes a text as the inside of a JSON string.
func encodeJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return text // not reached: strings always encode
	}
	return string(data[1 : len(data)-1])
}

// with returns a redactor of the values of both.
func (r *redactor) with(other *redactor) redactor {
	all := redactor{known: make(map[string]bool, len(r.values))}
	for _, v := range slices.Concat(r.values, other.values) {
		if !all.known[v.value] {
			all.known[v.value] = true
			all.values = append(all.values, v)
		}
	}
	all.sortValues()
	return all
}

// sortValues prepares the redactor, which is read-only afterwards. Longer values come first,
// because they may contain shorter ones.
func (r *redactor) sortValues() {
	slices.SortStableFunc(r.values, func(a, b hiddenValue) int { return len(b.value) - len(a.value) })
	r.known = nil
}

// redact returns text without the hidden values.
func (r *redactor) redact(text string) string {
	if text == "" || len(r.values) == 0 {
		return text
	}
	for _, v := range r.values {
		switch {
		case len(v.value) >= prefixRedacted:
			text = replacePrefixed(text, v)
		case len(v.value) >= minRedacted:
			text = strings.ReplaceAll(text, v.value, v.shown)
		default:
			for _, quote := range []string{`"`, `'`, "`"} {
				text = strings.ReplaceAll(text, quote+v.value+quote, quote+v.shown+quote)
			}
		}
	}
	return text
}

// replacePrefixed replaces the beginnings of a long value, as far as they go.
func replacePrefixed(text string, v hiddenValue) string {
	prefix := v.value[:prefixRedacted]
	var out strings.Builder
	for {
		i := strings.Index(text, prefix)
		if i < 0 {
			break
		}
		out.WriteString(text[:i])
		out.WriteString(v.shown)
		n := prefixRedacted
		for n < len(v.value) && i+n < len(text) && text[i+n] == v.value[n] {
			n++
		}
		text = text[i+n:]
	}
	if out.Len() == 0 {
		return text
	}
	out.WriteString(text)
	return out.String()
}

// redactDiagnostics redacts the texts of diagnostics in place. Credentials that are
// recognised by their form are taken out even where no value was hidden: an id
// may be one.
func (r *redactor) redactDiagnostics(list diag.List) {
	for i := range list {
		list[i].Message = maskCredentials(r.redact(list[i].Message))
		list[i].Hint = maskCredentials(r.redact(list[i].Hint))
		for j := range list[i].Related {
			list[i].Related[j].Message = maskCredentials(r.redact(list[i].Related[j].Message))
		}
	}
}
