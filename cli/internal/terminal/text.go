package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// appendEscaped appends text to dst with the escapes of Writer. Unless text is
// complete, it returns the bytes at the end that more text may change.
func appendEscaped(dst, text []byte, complete bool) (escaped, rest []byte) {
	for len(text) > 0 {
		plain := bytes.IndexFunc(text, needsCare)
		if plain < 0 {
			return append(dst, text...), nil
		}
		dst, text = append(dst, text[:plain]...), text[plain:]
		r, size := utf8.DecodeRune(text)
		switch {
		case !complete && (r == '\r' && len(text) == 1 || !utf8.FullRune(text)):
			return dst, text
		case r == '\r' && bytes.HasPrefix(text, []byte("\r\n")):
			dst = append(dst, '\r')
		case r == utf8.RuneError:
			dst = utf8.AppendRune(dst, r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				dst = fmt.Appendf(dst, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return dst, nil
}

// needsCare reports whether a character may need escaping: control and format characters, line
// separators and invalid UTF-8. Joiners, which emoji and some scripts need, and visible format
// characters are safe.
func needsCare(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	case r == utf8.RuneError:
		return true
	case r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	default:
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}
}

// EscapeText escapes a text as Writer does.
func EscapeText(text string) string {
	if strings.IndexFunc(text, needsCare) < 0 {
		return text
	}
	escaped, _ := appendEscaped(nil, []byte(text), true)
	return string(escaped)
}

// OneLine escapes a text, and replaces line ends and tabs with spaces, so that it cannot
// forge a line.
func OneLine(text string) string {
	return EscapeText(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text))
}

// EscapeLines is OneLine for multi-line text; it keeps the lines.
func EscapeLines(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = OneLine(all[i])
	}
	return strings.Join(all, "\n")
}

// IndentRest indents the lines of an error after the first, so that foreign text cannot forge one.
func IndentRest(text string) string {
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "  ") {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// Count returns a number and its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// WriteRow writes a named value and its place, unless the value is empty.
func WriteRow(b *strings.Builder, name, value, path, place string) {
	if value == "" {
		return
	}
	fmt.Fprintf(b, "  %-8s %s\n", name, value)
	switch {
	case place != "":
		fmt.Fprintf(b, "           at %s (%s)\n", place, path)
	case path != "":
		fmt.Fprintf(b, "           at %s\n", path)
	}
}
