package config

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
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

// encodeJSON encodes a text as the inside of a JSON string.
func encodeJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return text // not reached: strings always encode
	}
	return string(data[1 : len(data)-1])
}

// sortValues prepares the redactor, which is read-only afterwards. Longer values come first,
// because they may contain shorter ones.
func (r *redactor) sortValues() {
	slices.SortStableFunc(r.values, func(a, b hiddenValue) int { return len(b.value) - len(a.value) })
	r.known = nil
}

// addSecret adds a secret that is written in a file.
func (r *redactor) addSecret(text string) { r.addValue(hiddenValue{text, secretShown}) }

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

// Redact returns text without the values of variables and included files, and
// without the secrets of the configuration. Values of six bytes and more are
// replaced wherever they occur, shorter ones where they stand in quotes.
func (f *File) Redact(text string) string { return f.redactor.redact(text) }

// Source returns the text of a file for display. Secrets in it are replaced by asterisks of the
// same length, so columns do not change. It returns nil if the file is unknown or was not text.
func (f *File) Source(name string) []byte {
	for _, doc := range f.documents {
		if doc.Name == name {
			return doc.redactedText()
		}
	}
	return nil
}

// secretValues finds probable secrets in a file that did not parse: the rest of the
// line after a key whose name looks like one.
func secretValues(data []byte) [][2]int {
	var found [][2]int
	for i := 0; ; {
		colon := bytes.IndexByte(data[i:], ':')
		if colon < 0 {
			return found
		}
		i += colon + 1
		key := bytes.TrimRight(data[max(0, i-64):i-1], `"' `)
		if i >= len(data) || data[i] != ' ' && data[i] != '\t' || !secretName(lastWord(key)) {
			continue
		}
		line, _, _ := bytes.Cut(data[i:], []byte("\n"))
		end := i + len(line)
		found = append(found, [2]int{i + 1, end})
		i = end
	}
}

// lastWord returns the letters, digits, '_' and '-' at the end of text.
func lastWord(text []byte) string {
	from := len(text)
	for from > 0 {
		c := text[from-1] | 0x20
		if c != '_'|0x20 && c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			break
		}
		from--
	}
	return string(text[from:])
}

func (doc *sourceFile) redactedText() []byte {
	var ranges [][2]int
	if doc.Root == nil {
		ranges = secretValues(doc.Data)
	}
	ranges = append(append(ranges, findCredentials(doc.Data)...), findURLParts(doc.Data)...)
	for _, n := range doc.secrets {
		from, to := doc.NodeRange(n)
		ranges = append(ranges, [2]int{from, to})
	}
	return maskRanges(doc.Data, ranges)
}

// passwords finds the password of a URL.
var passwords = regexp.MustCompile(`://[^\s/:@"']*:([^\s/@"']+)@`)

// onlyReference matches a text that is one reference without a default: it
// gives nothing away.
var onlyReference = regexp.MustCompile(`^["']?\$\{(?:[A-Za-z_][A-Za-z0-9_]*|file:[^}]*)\}["']?$`)

// maskRanges returns data with each character of the ranges replaced by an asterisk.
// It keeps white space, and with it the shape of the text.
func maskRanges(data []byte, ranges [][2]int) []byte {
	if len(ranges) == 0 {
		return data
	}
	slices.SortFunc(ranges, func(a, b [2]int) int { return a[0] - b[0] })
	out := make([]byte, 0, len(data))
	done := 0
	for _, r := range ranges {
		from, to := max(r[0], done), r[1]
		if from >= to || onlyReference.Match(data[from:to]) {
			continue
		}
		out = append(out, data[done:from]...)
		for _, c := range string(data[from:to]) {
			if c == '\n' || c == '\r' || c == ' ' || c == '\t' {
				out = append(out, byte(c))
			} else {
				out = append(out, '*')
			}
		}
		done = to
	}
	return append(out, data[done:]...)
}
