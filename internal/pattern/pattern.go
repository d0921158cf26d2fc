// Package pattern compiles the product's globs. There is one dialect everywhere: no character is a
// separator, so '*' matches any sequence and '?' any one character, including '/', ':' and '_';
// '[…]' and '{a,b}' work, and '\' makes the next character literal. A pattern matches a whole text.
//
// Patterns guard tools, and the texts come from models, so no pattern may be slow: the time of a
// match is linear in the length of the text, and below 10 ms for 4 KiB. Slower patterns are
// rejected.
package pattern

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/gobwas/glob"
)

// maxLength limits a pattern, in bytes, so that compiling it stays cheap.
const maxLength = 1024

// Pattern is a compiled glob. It is safe for concurrent use.
type Pattern struct {
	source string
	// literal is set if the pattern has no special character; it is then compared, not matched.
	literal bool
	// sequences are the pattern with its alternatives expanded; one of them must match.
	sequences []sequence
}

// Compile compiles a glob. It fails if the glob is invalid.
func Compile(source string) (p Pattern, err error) {
	switch {
	case source == "":
		return Pattern{}, errors.New("the pattern is empty")
	case len(source) > maxLength:
		return Pattern{}, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(source), maxLength)
	case !utf8.ValidString(source):
		return Pattern{}, errors.New("the pattern is not valid UTF-8")
	case !strings.ContainsAny(source, `*?[]{}\,!`):
		return Pattern{source: source, literal: true}, nil
	case danglingEscape(source):
		return Pattern{}, errors.New(`the pattern ends in a single '\', which escapes nothing`)
	}
	defer panics.Handle(func(panicked *panics.Error) {
		p, err = Pattern{}, fmt.Errorf("the pattern cannot be compiled: %v", panicked.Value)
	})
	p = Pattern{source: source}
	// Errors must refer to the pattern as written.
	if _, err := glob.Compile(source); err != nil {
		return Pattern{}, syntaxError(err)
	}
	sources, err := expandPattern(source)
	if err != nil {
		return Pattern{}, err
	}
	p.sequences = make([]sequence, len(sources))
	for i, s := range sources {
		p.sequences[i] = parseSequence(s)
	}
	return p, nil
}

func syntaxError(err error) error {
	if e, ok := errors.AsType[*glob.SyntaxError](err); ok {
		return fmt.Errorf("the pattern does not compile: %s at byte %d", e.Reason, e.Offset)
	}
	return fmt.Errorf("the pattern does not compile: %w", err)
}

// Match reports whether the pattern matches the whole text.
func (p Pattern) Match(text string) bool {
	if p.literal {
		return p.source == text
	}
	for _, s := range p.sequences {
		if s.match(text) {
			return true
		}
	}
	return false
}

// Cost returns the cost of matching each byte of a text, in the unit of Regexp.Size.
func (p Pattern) Cost() int {
	n := 1
	for _, s := range p.sequences {
		for _, piece := range s {
			n += len(piece)
		}
	}
	return n
}

// String returns the pattern as written.
func (p Pattern) String() string { return p.source }

func danglingEscape(source string) bool {
	n := 0
	for i := len(source) - 1; i >= 0 && source[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
