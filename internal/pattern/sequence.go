package pattern

import (
	"strings"
	"unicode/utf8"

	"github.com/gobwas/glob/syntax"
)

// sequence is a glob without alternatives: pieces with a '*' between each two. Each piece but the
// last matches at the first possible position, which leaves the most text for the others. The time
// of a match is therefore linear in the length of the text.
type sequence []piece

// piece is the part of a glob between two '*'.
type piece []unit

// unit matches a literal text or, if text is empty, one character: any character, or one in a
// class.
type unit struct {
	text  string
	class *class
}

// class is a set or range of characters, or its complement.
type class struct {
	set     string
	low     rune
	high    rune
	isRange bool
	not     bool
}

func (c *class) has(r rune) bool {
	if c.isRange {
		return (c.low <= r && r <= c.high) != c.not
	}
	return strings.ContainsRune(c.set, r) != c.not
}

// parseSequence reads a glob without alternatives that is known to compile.
func parseSequence(source string) sequence {
	s := sequence{nil}
	add := func(u unit) { s[len(s)-1] = append(s[len(s)-1], u) }
	for lexer := syntax.NewLexer(source); ; {
		switch token := lexer.Next(); token.Type {
		case syntax.EOF, syntax.Error:
			return s
		case syntax.Any, syntax.Super:
			s = append(s, nil)
		case syntax.Single:
			add(unit{})
		case syntax.RangeOpen:
			add(unit{class: readClass(lexer)})
		default:
			add(unit{text: token.Data})
		}
	}
}

// readClass reads the rest of a character class.
func readClass(lexer *syntax.Lexer) *class {
	c := new(class)
	for {
		switch token := lexer.Next(); token.Type {
		case syntax.RangeClose, syntax.EOF, syntax.Error:
			return c
		case syntax.Not:
			c.not = true
		case syntax.RangeLo:
			c.low, _ = utf8.DecodeRuneInString(token.Data)
			c.isRange = true
		case syntax.RangeHi:
			c.high, _ = utf8.DecodeRuneInString(token.Data)
		case syntax.Text:
			c.set = token.Data
		}
	}
}

// match reports whether the sequence matches the whole text.
func (s sequence) match(text string) bool {
	n, ok := s[0].matchStart(text)
	if !ok || len(s) == 1 {
		return ok && n == len(text)
	}
	text = text[n:]
	last := len(s) - 1
	start, ok := s[last].matchEnd(text)
	if !ok {
		return false
	}
	text = text[:start]
	for _, p := range s[1:last] {
		end, ok := p.find(text)
		if !ok {
			return false
		}
		text = text[end:]
	}
	return true
}

// matchStart returns the number of bytes that the piece matches at the start of a text.
func (p piece) matchStart(text string) (n int, ok bool) {
	for i := range p {
		u := &p[i]
		if u.text != "" {
			if !strings.HasPrefix(text[n:], u.text) {
				return 0, false
			}
			n += len(u.text)
			continue
		}
		r, size := utf8.DecodeRuneInString(text[n:])
		if size == 0 || u.class != nil && !u.class.has(r) {
			return 0, false
		}
		n += size
	}
	return n, true
}

// matchEnd returns the start of the piece's match at the end of a text.
func (p piece) matchEnd(text string) (start int, ok bool) {
	for i := len(p) - 1; i >= 0; i-- {
		u := &p[i]
		if u.text != "" {
			if !strings.HasSuffix(text, u.text) {
				return 0, false
			}
			text = text[:len(text)-len(u.text)]
			continue
		}
		r, size := utf8.DecodeLastRuneInString(text)
		if size == 0 || u.class != nil && !u.class.has(r) {
			return 0, false
		}
		text = text[:len(text)-size]
	}
	return len(text), true
}

// find returns the end of the piece's first match in a text.
func (p piece) find(text string) (end int, ok bool) {
	if len(p) == 0 {
		return 0, true
	}
	for at := 0; ; {
		if p[0].text != "" {
			i := strings.Index(text[at:], p[0].text)
			if i < 0 {
				return 0, false
			}
			at += i
		}
		if n, ok := p.matchStart(text[at:]); ok {
			return at + n, true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		if size == 0 {
			return 0, false
		}
		at += size
	}
}
