package secret

import (
	"regexp"
	"strings"
)

var (
	references = regexp.MustCompile(`\$?\{\{[^{}]*\}\}|\$\{[^}]*\}`)
	// schemes are words in credentials that are not secret.
	schemes = regexp.MustCompile(`(?i)\b(?:bearer|basic|token|digest|api-?key|key)\b`)
)

// IsReference reports whether a secret field's value reveals nothing: it consists only of words
// such as Bearer, argument placeholders, and references without defaults that may be secrets. Only
// such values are stored.
func IsReference(text string) bool {
	rest := strings.ReplaceAll(text, "$$", "\x00")
	if LiteralOf(text) != "" && strings.Contains(rest, "${") {
		return false
	}
	rest = references.ReplaceAllString(rest, " ")
	return strings.Trim(schemes.ReplaceAllString(rest, " "), " \t\n:;,=/") == ""
}

// LiteralOf returns the secret written in a text. In a text with references, only a default can be
// the secret, since the rest, such as "Bearer ", is not. A short default is a placeholder, which
// some local servers require.
func LiteralOf(text string) string {
	text = strings.ReplaceAll(text, "$$", "\x00")
	if !strings.Contains(text, "${") {
		return text
	}
	for _, m := range referenceDefault.FindAllStringSubmatch(text, -1) {
		if len(m[1]) > maxPlaceholder {
			return m[1]
		}
	}
	return ""
}

// maxPlaceholder is the maximum length of a variable's default that is not considered a secret.
const maxPlaceholder = 7

// referenceDefault matches a reference with a default.
var referenceDefault = regexp.MustCompile(`\$\{[A-Za-z_]\w*:-([^}]*)\}`)
