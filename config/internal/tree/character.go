package tree

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
)

// invisible are the characters that look like a space or are invisible.
var invisible = map[rune]string{
	'\t': "tab", 0xA0: "no-break space", 0xAD: "soft hyphen", 0x1680: "ogham space mark", 0x180E: "mongolian vowel separator",
	0x2000: "en quad", 0x2001: "em quad", 0x2002: "en space", 0x2003: "em space", 0x2004: "three-per-em space",
	0x2005: "four-per-em space", 0x2006: "six-per-em space", 0x2007: "figure space", 0x2008: "punctuation space",
	0x2009: "thin space", 0x200A: "hair space", 0x200B: "zero width space", 0x200C: "zero width non-joiner",
	0x200D: "zero width joiner", 0x200E: "left-to-right mark", 0x200F: "right-to-left mark",
	0x2028: "line separator", 0x2029: "paragraph separator", 0x85: "next line",
	0x202A: "left-to-right embedding", 0x202B: "right-to-left embedding", 0x202C: "pop directional formatting",
	0x202D: "left-to-right override", 0x202E: "right-to-left override", 0x202F: "narrow no-break space",
	0x205F: "medium mathematical space", 0x2060: "word joiner", 0x3000: "ideographic space", 0xFEFF: "byte order mark",
}

// typographic maps characters of word processors to YAML's.
var typographic = map[rune]string{
	0x2018: "left single quotation mark", 0x2019: "right single quotation mark", 0x201A: "low single quotation mark",
	0x201C: "left double quotation mark", 0x201D: "right double quotation mark", 0x201E: "low double quotation mark",
	0xAB: "left guillemet", 0xBB: "right guillemet", 0x2010: "hyphen", 0x2011: "non-breaking hyphen",
	0x2013: "en dash", 0x2014: "em dash", 0x2212: "minus sign", 0xFF1A: "fullwidth colon", 0xFF0C: "fullwidth comma",
}

// lookalikes are letters of other scripts that look like Latin ones.
var lookalikes = map[string]struct {
	letters []rune
	latin   string
}{
	"Cyrillic": {[]rune("авеіјкмнорсѕтухһԁԛԝАВЕІЈКМНОРЅСТУХ"), "abeijkmhopcstyxhdqwABEIJKMHOPSCTYX"},
	"Greek":    {[]rune("αικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"), "aiknoptuxABEZHIKMNOPTYX"},
}

// latinLookalike returns a letter's script and the Latin letter that it resembles.
func latinLookalike(r rune) (script string, latin rune) {
	if r >= 0xFF21 && r <= 0xFF5A {
		return "fullwidth", r - 0xFF21 + 'A'
	}
	for script, s := range lookalikes {
		for i, c := range s.letters {
			if c == r {
				return script, rune(s.latin[i])
			}
		}
	}
	return "", 0
}

// NameCharacters names lookalike characters in the hints of diagnostics at their positions: they
// may be the mistake and are otherwise hard to find.
func (t *Tree) NameCharacters(list diag.List) {
	for i := range list {
		d := &list[i]
		if d.Severity == diag.Note || d.Line == 0 || strings.Contains(d.Hint, "U+") || strings.Contains(d.Message, "U+") {
			continue
		}
		for _, doc := range t.Documents {
			if doc.Name != d.File {
				continue
			}
			if said := doc.oddCharacter(d); said != "" {
				d.Hint = joinHints(d.Hint, said)
			}
			break
		}
	}
}

// joinHints appends a second hint to a first one.
func joinHints(first, second string) string {
	switch {
	case first == "":
		return second
	case strings.HasSuffix(first, "?"):
		return first + " " + second
	default:
		return first + "; " + second
	}
}

// oddCharacter looks for such a character at a diagnostic's position: in the marked text, or, if
// that cannot be parsed, in the whole line and the one before.
func (doc *SourceFile) oddCharacter(d *diag.Diagnostic) string {
	if d.Column > maxColumn {
		return ""
	}
	if d.Code != diag.InvalidYAML && d.Path != "" {
		if d.EndLine != d.Line || d.EndColumn-d.Column > maxToken {
			return ""
		}
		line := []rune(doc.lineText(d.Line))
		from := min(max(d.Column-1, 0), len(line))
		to := min(max(d.EndColumn-1, from), len(line))
		return nameOddCharacter(string(line[from:to]), d.Column, false)
	}
	if said := nameOddCharacter(doc.lineText(d.Line), 1, true); said != "" || d.Line == 1 {
		return said
	}
	if said := nameOddCharacter(doc.lineText(d.Line-1), 1, true); said != "" {
		return strings.Replace(said, " at column", fmt.Sprintf(" in line %d, at column", d.Line-1), 1)
	}
	return ""
}

// maxColumn limits the examined columns of a line: nobody reads further, and a file may be a single
// line.
const maxColumn = 1000

// lineText returns a line, counted as in editors, up to the examined limit.
func (doc *SourceFile) lineText(n int) string {
	starts := doc.LineStarts()
	if n < 1 || n > len(starts) {
		return ""
	}
	rest := doc.Data[starts[n-1]:]
	line, _, _ := bytes.Cut(rest[:min(len(rest), 4*maxColumn)], []byte("\n"))
	return string(line)
}

// maxToken limits, in bytes, the texts to search for letters of other scripts: ids and names are
// short.
const maxToken = 200

// nameOddCharacter names the first odd character of a text that begins at a column. In a line
// that cannot be parsed quotes count only where a value may begin.
func nameOddCharacter(text string, column int, line bool) string {
	token := !line && len(text) <= maxToken && isDisguised(text)
	before := rune(' ')
	for _, r := range text {
		name, hidden := invisible[r]
		quote, typed := typographic[r]
		switch {
		case r == '\t' && line && before == ' ':
			return fmt.Sprintf("indent with spaces: there is a U+0009 tab at column %d", column)
		case hidden && r != '\t':
			return fmt.Sprintf("there is a U+%04X %s at column %d", r, name, column)
		case typed && (r >= 0xFF00 || !line && column > 0 && startsTypeset(text) || line && strings.ContainsRune(" [{,:", before)):
			return fmt.Sprintf("there is a U+%04X %s at column %d, where YAML needs a plain character", r, quote, column)
		case token && r >= utf8.RuneSelf:
			if script, latin := latinLookalike(r); script != "" {
				return fmt.Sprintf("there is a U+%04X at column %d, a %s letter that looks like %q", r, column, script, string(latin))
			}
		}
		before = r
		column++
	}
	return ""
}

// startsTypeset reports whether a text begins with a typographic character.
func startsTypeset(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	_, typed := typographic[r]
	return typed || len(text) <= maxToken && !strings.Contains(text, " ")
}

// isDisguised reports whether a text looks like an ASCII word but is not: it has letters of other
// scripts, all of which look like Latin ones.
func isDisguised(text string) bool {
	found := false
	for _, r := range text {
		if r < utf8.RuneSelf {
			continue
		}
		if script, _ := latinLookalike(r); script == "" {
			return false
		}
		found = true
	}
	return found
}
