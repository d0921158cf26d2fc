package clip

import (
	"strings"
	"unicode/utf8"
)

// Clean returns a text that every database, protocol and program takes: with the
// replacement character in place of each NUL and of what is not UTF-8. A text
// without any is returned as it is.
func Clean(text string) string {
	if IsClean(text) {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}

// IsClean reports whether Clean returns a text as it is.
func IsClean(text string) bool {
	return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text)
}
