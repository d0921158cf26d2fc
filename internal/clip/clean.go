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
	if len(text) <= shortText && isPlain(text) {
		return true
	}
	return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text)
}

// shortText is the maximum length of a text for which a loop is faster than the two standard
// library functions. Most pieces of an answer are that short.
const shortText = 32

// isPlain reports whether a text is ASCII without a NUL.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c == 0 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
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
