package yamltree

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
)

// The limits of a configuration file. They limit time and memory for any content.
const (
	// MaxFileSize is the exclusive maximum size of a file in bytes.
	MaxFileSize = 5_000_000
	// MaxDepth is the maximum nesting depth of collections.
	MaxDepth = 100
	// MaxNodes is the maximum number of values in a file, with aliases and merge keys expanded.
	MaxNodes = 750_000
	// MaxExpanded limits the bytes of a file's texts, with aliases expanded, and the bytes that
	// variables and files may add to them.
	MaxExpanded = 16 << 20
	// MaxFindings is the maximum number of reported diagnostics per file. A file with more errors
	// is not read to its end.
	MaxFindings = 1000
)

// Check rejects data that is too large or not valid text before parsing, since the parser does
// not report the position of an invalid character.
func (doc *Document) Check() (diag.Diagnostic, bool) {
	data := doc.Data
	switch {
	case len(data) >= MaxFileSize:
		doc.Data = nil
		return doc.FaultAt(0, 0, "the file has %d bytes or more; it must be smaller than %d", MaxFileSize, MaxFileSize).
			WithHint("split it: several files may be given"), false
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		doc.Data = nil
		return doc.FaultAt(0, 0, "the file is encoded as UTF-16; only UTF-8 can be read").WithHint("save it as UTF-8"), false
	case looksLikeUTF16(data):
		doc.Data = nil
		return doc.FaultAt(0, 0, "the file looks like UTF-16; only UTF-8 can be read").WithHint("save it as UTF-8"), false
	}
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c >= 0x20 && c < utf8.RuneSelf, c == '\n', c == '\t', c == '\r':
			i++
		case c < 0x20:
			return doc.FaultAt(i, i+1, "the file contains the control character U+%04X, which YAML does not allow", c).
				WithHint("inside double quotes, write it as an escape such as \\x%02x", c), false
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return doc.FaultAt(i, i+1, "the file is not valid UTF-8: unexpected byte 0x%02x", c), false
			}
			if r == 0xFFFE || r == 0xFFFF {
				return doc.FaultAt(i, i+size, "the file contains the character U+%04X, which YAML does not allow", r), false
			}
			i += size
		}
	}
	if n := estimateNodes(data); n > MaxNodes {
		return doc.FaultAt(0, 0, "the file has too many values: about %d, and at most %d are allowed", n, MaxNodes).
			WithHint("split it: several files may be given"), false
	}
	return diag.Diagnostic{}, true
}

// looksLikeUTF16 reports whether data without a byte order mark looks like UTF-16: of its first
// characters, most have one zero byte, always on the same side.
func looksLikeUTF16(data []byte) bool {
	const start = 512
	data = data[:min(len(data), start)&^1]
	var zeros [2]int
	for i, c := range data {
		if c == 0 {
			zeros[i%2]++
		}
	}
	return min(zeros[0], zeros[1]) == 0 && max(zeros[0], zeros[1]) > len(data)/4
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

// FaultAt returns an invalid-yaml diagnostic for a range of bytes.
func (doc *Document) FaultAt(from, to int, format string, args ...any) diag.Diagnostic {
	d := diag.New(diag.InvalidYAML, "", "%s", fmt.Sprintf(format, args...))
	d.Span = doc.SpanOf(from, to)
	return d
}
