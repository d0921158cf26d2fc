package clip

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean replaces NUL characters and invalid UTF-8 by the replacement character, so that every
// database, protocol and program accepts the text. A clean text is returned unchanged.
func Clean(text string) string {
	if IsClean(text) {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}

// IsClean reports whether Clean returns a text unchanged.
func IsClean(text string) bool {
	return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text)
}

// Visible returns a text without control characters, except tabs and line feeds, and without
// characters that change the direction of text, cut to limit bytes with a mark.
func Visible(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	return Head(text, limit-len(mark)) + mark
}
