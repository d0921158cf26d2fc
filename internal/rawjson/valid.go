package rawjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// errInvalid reports text that Valid rejects.
var errInvalid = errors.New("not valid JSON")

// Valid reports whether raw is JSON that can be encoded unchanged, also inside other JSON: valid
// UTF-8 with at most 1,000 levels.
func Valid(raw []byte) bool {
	s := validator{raw: raw}
	return s.checkDocument()
}

// Compact returns a copy of raw without the spaces between its tokens. It returns errInvalid for
// text that Valid rejects.
func Compact(raw []byte) (json.RawMessage, error) {
	s := validator{raw: raw}
	if !s.checkDocument() {
		return nil, errInvalid
	}
	if !s.spaced {
		return bytes.Clone(raw), nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, errInvalid
	}
	return out.Bytes(), nil
}

// CompactText returns raw without the spaces between its tokens, or unchanged if Valid rejects it.
func CompactText(raw []byte) string {
	compact, err := Compact(raw)
	if err != nil {
		return string(raw)
	}
	return string(compact)
}

// validator reads JSON once, without decoding it. json.Valid takes several times as long, and
// checks neither the encoding nor the depth.
type validator struct {
	raw []byte
	at  int
	// spaced is set if there is a space between two tokens or around the document.
	spaced bool
}

// checkDocument reports whether the text is one value.
func (s *validator) checkDocument() bool {
	s.skipSpaces()
	if !s.checkValue(0) {
		return false
	}
	s.skipSpaces()
	return s.at == len(s.raw)
}

// peek returns the next byte, or 0 at the end; no token begins with 0.
func (s *validator) peek() byte {
	if s.at < len(s.raw) {
		return s.raw[s.at]
	}
	return 0
}

func (s *validator) skipSpaces() {
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
			s.spaced = true
		default:
			return
		}
	}
}

// checkValue reads a value inside depth lists and objects.
func (s *validator) checkValue(depth int) bool {
	switch c := s.peek(); c {
	case '"':
		return s.checkText()
	case '{':
		return depth < maxDepth && s.checkObject(depth+1)
	case '[':
		return depth < maxDepth && s.checkList(depth+1)
	case 't':
		return s.checkWord("true")
	case 'f':
		return s.checkWord("false")
	case 'n':
		return s.checkWord("null")
	default:
		return s.checkNumber()
	}
}

// checkObject reads an object, whose brace is next.
func (s *validator) checkObject(depth int) bool {
	s.at++
	s.skipSpaces()
	if s.peek() == '}' {
		s.at++
		return true
	}
	for {
		if s.peek() != '"' || !s.checkText() {
			return false
		}
		s.skipSpaces()
		if s.peek() != ':' {
			return false
		}
		s.at++
		s.skipSpaces()
		if !s.checkValue(depth) {
			return false
		}
		if more, ok := s.checkNext('}'); !more {
			return ok
		}
	}
}

// checkList reads a list, whose bracket is next.
func (s *validator) checkList(depth int) bool {
	s.at++
	s.skipSpaces()
	if s.peek() == ']' {
		s.at++
		return true
	}
	for {
		if !s.checkValue(depth) {
			return false
		}
		if more, ok := s.checkNext(']'); !more {
			return ok
		}
	}
}

// checkNext reads the token after an element: a comma, after which more follow, or the end.
func (s *validator) checkNext(end byte) (more, ok bool) {
	s.skipSpaces()
	switch s.peek() {
	case ',':
		s.at++
		s.skipSpaces()
		return true, true
	case end:
		s.at++
		return false, true
	default:
		return false, false
	}
}

func (s *validator) checkWord(word string) bool {
	if !bytes.HasPrefix(s.raw[s.at:], []byte(word)) {
		return false
	}
	s.at += len(word)
	return true
}

// checkNumber reads a number.
func (s *validator) checkNumber() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.checkDigits() {
		return false
	}
	if s.peek() == '.' {
		s.at++
		if !s.checkDigits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		return s.checkDigits()
	}
	return true
}

// checkDigits reads at least one digit.
func (s *validator) checkDigits() bool {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

// checkText reads a string, whose quote is next.
func (s *validator) checkText() bool {
	i := s.at + 1
	for {
		for i+8 <= len(s.raw) && isPlain(binary.LittleEndian.Uint64(s.raw[i:])) {
			i += 8
		}
		if i >= len(s.raw) {
			return false
		}
		switch c := s.raw[i]; {
		case c == '"':
			s.at = i + 1
			return true
		case c == '\\':
			n := escapeLength(s.raw[i:])
			if n == 0 {
				return false
			}
			i += n
		case c < ' ':
			return false
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(s.raw[i:])
			if r == utf8.RuneError && n == 1 {
				return false
			}
			i += n
		}
	}
}

// isPlain reports whether eight bytes are ASCII without control characters, quotes and
// backslashes.
func isPlain(eight uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash := eight^ones*'"', eight^ones*'\\'
	// The lowest byte that is less than its subtrahend borrows, which sets its highest bit. The
	// effect on higher bytes is then irrelevant.
	found := eight | (eight - ones*' ') | (quote - ones) | (backslash - ones)
	return found&high == 0
}

// escapeLength returns the length of the escape sequence at the start of a text; 0 if it is
// invalid.
func escapeLength(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		const length = len(`\u0000`)
		if len(text) < length {
			return 0
		}
		for _, c := range text[2:length] {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return 0
			}
		}
		return length
	default:
		return 0
	}
}
