package expand

import "strings"

// Escape returns a text that expands to the given one.
func Escape(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// IndexReference returns the index of a reference that begins with mark, or -1: text after $$ does
// not count.
func IndexReference(text, mark string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '$':
		case strings.HasPrefix(text[i:], "$$"):
			i++
		case strings.HasPrefix(text[i:], mark):
			return i
		}
	}
	return -1
}
