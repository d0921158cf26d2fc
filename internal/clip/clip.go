// Package clip shortens what somebody else wrote for a message.
package clip

import (
	"strings"
	"unicode/utf8"
)

// limit is how much of a text a message repeats, in bytes.
const limit = 80

// Text returns a text, cut to 80 bytes with a mark when it is longer. No
// character is split.
func Text(text string) string { return At(limit, text) }

// At is Text with another limit, in bytes.
func At(limit int, text string) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// Head returns the beginning of a text, in at most limit bytes and without a mark.
// No character is split; a text that is not UTF-8 has none to split.
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
