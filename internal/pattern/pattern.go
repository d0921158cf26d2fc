// Package pattern compiles the globs of the product. There is one dialect
// everywhere: no character is a separator, so '*' matches any sequence and '?'
// any one character, '/', ':' and '_' included; '[…]' and '{a,b}' work, and
// '\' makes the next character literal. A pattern matches a whole text.
package pattern

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gobwas/glob"
)

// maxLength bounds a pattern, in bytes, so that compiling one stays cheap.
const maxLength = 1024

// Pattern is a compiled glob. It is safe for concurrent use.
type Pattern struct {
	source string
	// literal is set when the pattern has no special character: then it is
	// compared, not matched.
	literal bool
	glob    *glob.Pattern
}

// Compile compiles a glob. The error says what is wrong with it.
func Compile(source string) (p Pattern, err error) {
	switch {
	case source == "":
		return Pattern{}, errors.New("the pattern is empty")
	case len(source) > maxLength:
		return Pattern{}, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(source), maxLength)
	case !strings.ContainsAny(source, `*?[]{}\,!`):
		return Pattern{source: source, literal: true}, nil
	case danglingEscape(source):
		return Pattern{}, errors.New(`the pattern ends in a single '\', which escapes nothing`)
	}
	defer func() {
		if r := recover(); r != nil {
			p, err = Pattern{}, fmt.Errorf("the pattern cannot be compiled: %v", r)
		}
	}()
	g, err := glob.Compile(source)
	if err != nil {
		return Pattern{}, fmt.Errorf("the pattern does not compile: %w", err)
	}
	return Pattern{source: source, glob: g}, nil
}

// Match reports whether the pattern matches the whole text.
func (p Pattern) Match(text string) bool {
	if p.literal {
		return p.source == text
	}
	return p.glob != nil && p.glob.Match(text)
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.source }

func danglingEscape(source string) bool {
	n := 0
	for i := len(source) - 1; i >= 0 && source[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
