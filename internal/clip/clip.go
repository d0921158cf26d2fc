// Package clip shortens foreign texts for messages, and JSON objects for events.
package clip

import (
	"strings"
	"unicode/utf8"
)

// limit is the maximum number of bytes of a text repeated in a message.
const limit = 80

// Text returns a text, cut to 80 bytes with a mark if it is longer. It does not split characters.
func Text(text string) string { return At(limit, text) }

// At is Text with another limit, in bytes.
func At(limit int, text string) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// Head returns the beginning of a text, at most limit bytes, without a mark. It does not split
// characters; a text that is not UTF-8 has none to split.
func Head(text string, limit int) string {
	limit = max(limit, 0)
	if len(text) <= limit {
		return text
	}
	for n := limit; n >= max(limit-utf8.UTFMax+1, 0); n-- {
		if utf8.RuneStart(text[n]) {
			return text[:n]
		}
	}
	return text[:limit]
}
