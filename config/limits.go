package config

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
)

// The limits of a configuration file. They limit time and memory for any content.
const (
	// maxFileSize is the exclusive maximum size of a file in bytes.
	maxFileSize = 5_000_000
	// maxDepth is the maximum nesting depth of collections.
	maxDepth = 100
	// maxNodes is the maximum number of values in a file, with aliases and merge keys expanded.
	maxNodes = 750_000
	// maxExpanded limits the bytes of a file's texts, with aliases expanded, and the bytes that
	// variables and files may add to them.
	maxExpanded = 16 << 20
	// maxFindings is the maximum number of reported diagnostics per file. A file with more errors
	// is not read to its end.
	maxFindings = 1000
)

// checkData rejects data that is too large or not valid text before parsing, since the parser does
// not report the position of an invalid character.
func checkData(doc *yamlDocument) (diag.Diagnostic, bool) {
	data := doc.data
	switch {
	case len(data) >= maxFileSize:
		doc.data = nil
		return doc.faultAt(0, 0, "the file has %d bytes or more; it must be smaller than %d", maxFileSize, maxFileSize).
			WithHint("split it: several files may be given"), false
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		doc.data = nil
		return doc.faultAt(0, 0, "the file is encoded as UTF-16; only UTF-8 can be read"), false
	}
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c >= 0x20 && c < utf8.RuneSelf, c == '\n', c == '\t', c == '\r':
			i++
		case c < 0x20:
			return doc.faultAt(i, i+1, "the file contains the control character U+%04X, which YAML does not allow", c).
				WithHint("inside double quotes, write it as an escape such as \\x%02x", c), false
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return doc.faultAt(i, i+1, "the file is not valid UTF-8: unexpected byte 0x%02x", c), false
			}
			if r == 0xFFFE || r == 0xFFFF {
				return doc.faultAt(i, i+size, "the file contains the character U+%04X, which YAML does not allow", r), false
			}
			i += size
		}
	}
	if n := estimateNodes(data); n > maxNodes {
		return doc.faultAt(0, 0, "the file has too many values: about %d, and at most %d are allowed", n, maxNodes).
			WithHint("split it: several files may be given"), false
	}
	return diag.Diagnostic{}, true
}

// estimateNodes estimates an upper bound of parsed nodes from the characters that start one. The
// parser takes about 250 bytes for each, so the bound is needed before parsing. Text is
// overestimated, but stays far below the limit.
func estimateNodes(data []byte) int {
	n := 2
	for i, c := range data {
		switch c {
		case ',', '[':
			n++
		case '{':
			if i == 0 || data[i-1] != '$' {
				n++
			}
		case ':', '?':
			if blankAfter(data, i) || i > 0 && (data[i-1] == '"' || data[i-1] == '\'') {
				n += 2
			}
		case '-':
			if blankAfter(data, i) {
				n++
			}
		}
	}
	return n
}

func blankAfter(data []byte, i int) bool {
	if i+1 >= len(data) {
		return true
	}
	switch data[i+1] {
	case ' ', '\t', '\n', '\r', ',', ']', '}', '[', '{':
		return true
	}
	return false
}

// faultAt returns an invalid-yaml diagnostic for a range of bytes.
func (doc *yamlDocument) faultAt(from, to int, format string, args ...any) diag.Diagnostic {
	d := diag.New(diag.InvalidYAML, "", "%s", fmt.Sprintf(format, args...))
	d.Span = doc.spanOf(from, to)
	return d
}
