// Package escapetest has texts that attack terminals.
package escapetest

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Corpus has text that attacks terminals and its escaped form.
var Corpus = map[string]struct{ Text, Shown string }{
	"clear the screen":        {"a\x1b[2Jb", `a\u001b[2Jb`},
	"clipboard":               {"\x1b]52;c;ZXZpbA==\x07", `\u001b]52;c;ZXZpbA==\u0007`},
	"title":                   {"\x1b]0;title\x1b\\", `\u001b]0;title\u001b\`},
	"hyperlink":               {"\x1b]8;;http://evil.example\x07here\x1b]8;;\x07", `\u001b]8;;http://evil.example\u0007here\u001b]8;;\u0007`},
	"concealed text":          {"\x1b[8mhidden\x1b[28m", `\u001b[8mhidden\u001b[28m`},
	"device control":          {"\x1bPq#0\x1b\\\x1b_app\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\", `\u001bPq#0\u001b\\u001b_app\u001b\\u001b^pm\u001b\\u001bXsos\u001b\`},
	"alternate screen":        {"\x1b[?1049h\x1bc", `\u001b[?1049h\u001bc`},
	"answer back":             {"\x1b[6n\x1b[c\x05", `\u001b[6n\u001b[c\u0005`},
	"another character set":   {"\x0e\x1b(0qqq\x0f", `\u000e\u001b(0qqq\u000f`},
	"overwritten line":        {"rm -rf /\rls     ", `rm -rf /\u000dls     `},
	"carriage return at end":  {"a\r", `a\u000d`},
	"two carriage returns":    {"a\r\r\n", "a\\u000d\r\n"},
	"backspaces":              {"evil\b\b\b\bgood", `evil\u0008\u0008\u0008\u0008good`},
	"8-bit controls in UTF-8": {"\u009b2J\u009d0;t\u009c\u0090q\u009c\u0085", `\u009b2J\u009d0;t\u009c\u0090q\u009c\u0085`},
	"8-bit controls in bytes": {"\x9b2J\x9d", "\ufffd2J\ufffd"},
	"bidirectional overrides": {"\u202aa\u202bb\u202cc\u202dd\u202ee\u2066f\u2067g\u2068h\u2069i\u200ej\u200fk\u061cl", `\u202aa\u202bb\u202cc\u202dd\u202ee\u2066f\u2067g\u2068h\u2069i\u200ej\u200fk\u061cl`},
	"invisible text":          {"a\u200bb\u2060c\ufeffd\u00ade\U000e0041", `a\u200bb\u2060c\ufeffd\u00ade\udb40\udc41`},
	"line separators":         {"a\u2028b\u2029c\vd\fe", `a\u2028b\u2029c\u000bd\u000ce`},
	"delete and null":         {"a\x7fb\x00c", `a\u007fb\u0000c`},
	"text is kept":            {"Grüße, שלום, 日本語, 👩‍👩‍👧, نمی\u200cخواهم\tx\r\n\n", "Grüße, שלום, 日本語, 👩‍👩‍👧, نمی\u200cخواهم\tx\r\n\n"},
	"incomplete character":    {"a\xe2\x80", "a\ufffd\ufffd"},
}

// IsInert reports whether a terminal can show a text without executing control sequences.
func IsInert(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) bool {
		safe := r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Prepended_Concatenation_Mark, r)
		return !safe && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}) < 0
}

const (
	// Attack is text that controls terminals, escaped for YAML and JSON.
	Attack = `\u001b[2J\u001b]52;c;eA==\u0007\u009b8m\u202e\r\b`
	// Mark is the part of Attack that is always shown.
	Mark = "[2J"
	// ForgedLine is the start of a line that attackers try to add to the output.
	ForgedLine = "FORGED"
)

// Text is Attack, no longer escaped, followed by the start of a line.
var Text = func() (text string) {
	_ = json.Unmarshal([]byte(`"`+Attack+`\n`+ForgedLine+`"`), &text)
	return text
}()
