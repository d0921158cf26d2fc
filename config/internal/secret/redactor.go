// Package secret finds secrets in texts, by their form and by the names of fields, and hides them.
package secret

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
)

// Redactor replaces values that must not be shown: expansions of variables and files, and the
// secrets of a file.
type Redactor struct {
	values []Value
	known  map[string]bool
}

// Value is a hidden value with its replacement.
type Value struct{ Text, Shown string }

// AddValue adds a value and its encoded forms.
func (r *Redactor) AddValue(v Value) {
	if v.Text == "" || r.known[v.Text] {
		return
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	quoted := strconv.Quote(v.Text)
	encoded := encodeJSON(v.Text)
	for _, spelling := range []string{v.Text, quoted[1 : len(quoted)-1], encoded, encodeJSON(encoded), url.QueryEscape(v.Text), url.PathEscape(v.Text)} {
		if !r.known[spelling] {
			r.known[spelling] = true
			r.values = append(r.values, Value{spelling, v.Shown})
		}
	}
}

// AddSecret adds a secret that is written in a file.
func (r *Redactor) AddSecret(text string) { r.AddValue(Value{text, Shown}) }

// encodeJSON encodes a text as the inside of a JSON string.
func encodeJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return text // not reached: strings always encode
	}
	return string(data[1 : len(data)-1])
}

// With returns a redactor of the values of both.
func (r *Redactor) With(other *Redactor) Redactor {
	all := Redactor{known: make(map[string]bool, len(r.values))}
	for _, v := range slices.Concat(r.values, other.values) {
		if !all.known[v.Text] {
			all.known[v.Text] = true
			all.values = append(all.values, v)
		}
	}
	all.SortValues()
	return all
}

// SortValues prepares the redactor, which is read-only afterwards. Longer values come first,
// because they may contain shorter ones.
func (r *Redactor) SortValues() {
	slices.SortStableFunc(r.values, func(a, b Value) int { return len(b.Text) - len(a.Text) })
	r.known = nil
}

// Redact returns text without the hidden values.
func (r *Redactor) Redact(text string) string {
	if text == "" || len(r.values) == 0 {
		return text
	}
	for _, v := range r.values {
		switch {
		case len(v.Text) >= prefixRedacted:
			text = replacePrefixed(text, v)
		case len(v.Text) >= minRedacted:
			text = strings.ReplaceAll(text, v.Text, v.Shown)
		default:
			for _, quote := range []string{`"`, `'`, "`"} {
				text = strings.ReplaceAll(text, quote+v.Text+quote, quote+v.Shown+quote)
			}
		}
	}
	return text
}

// replacePrefixed replaces the beginnings of a long value, as far as they go.
func replacePrefixed(text string, v Value) string {
	prefix := v.Text[:prefixRedacted]
	var out strings.Builder
	for {
		i := strings.Index(text, prefix)
		if i < 0 {
			break
		}
		out.WriteString(text[:i])
		out.WriteString(v.Shown)
		n := prefixRedacted
		for n < len(v.Text) && i+n < len(text) && text[i+n] == v.Text[n] {
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

// RedactDiagnostics redacts the texts of diagnostics in place. Credentials that are
// recognized by their form are taken out even where no value was hidden: an id
// may be one.
func (r *Redactor) RedactDiagnostics(list diag.List) {
	for i := range list {
		list[i].Message = MaskCredentials(r.Redact(list[i].Message))
		list[i].Hint = MaskCredentials(r.Redact(list[i].Hint))
		for j := range list[i].Related {
			list[i].Related[j].Message = MaskCredentials(r.Redact(list[i].Related[j].Message))
		}
	}
}
