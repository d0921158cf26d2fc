// Package clip shortens what somebody else wrote for a message.
package clip

import "strings"

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
