package pattern

import (
	"fmt"

	"github.com/gobwas/glob/syntax"
)

const (
	// maxAlternatives limits the patterns that a pattern with alternatives expands to.
	maxAlternatives = 64
	// maxExpanded bounds their bytes.
	maxExpanded = 4 * maxLength
	// maxSingle limits their '?' and '[…]', which are slow after a '*'.
	maxSingle = 64
)

// expandPattern expands alternatives: a{b,c}d becomes abd and acd.
func expandPattern(source string) ([]string, error) {
	e := expander{source: source, lexer: syntax.NewLexer(source)}
	patterns, _, err := e.readSequence()
	if err != nil {
		return nil, err
	}
	if err := e.checkCost(patterns); err != nil {
		return nil, err
	}
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = p.text
	}
	return out, nil
}

// expander expands the alternatives of one pattern that is known to compile.
type expander struct {
	source string
	lexer  *syntax.Lexer
	groups bool
}

// expansion is a pattern without alternatives, or the start of one.
type expansion struct {
	text string
	// single counts its '?' and '[…]'.
	single int
}

// readSequence reads up to the end of the pattern or alternative, and returns the expansions and
// the token after it.
func (e *expander) readSequence() ([]expansion, syntax.TokenType, error) {
	all := []expansion{{}}
	for {
		from := e.lexer.Offset()
		switch token := e.lexer.Next(); token.Type {
		case syntax.EOF, syntax.Error, syntax.TermSeparator, syntax.TermsClose:
			return all, token.Type, nil
		case syntax.TermsOpen:
			group, err := e.readGroup()
			if err != nil {
				return nil, 0, err
			}
			if all, err = e.combine(all, group); err != nil {
				return nil, 0, err
			}
		default:
			piece := expansion{text: e.source[from:e.lexer.Offset()]}
			if token.Type == syntax.Single || token.Type == syntax.RangeOpen {
				piece.single = 1
			}
			for i := range all {
				all[i].text += piece.text
				all[i].single += piece.single
			}
		}
	}
}

// readGroup reads the alternatives of an opened group.
func (e *expander) readGroup() ([]expansion, error) {
	e.groups = true
	var all []expansion
	for {
		alternative, end, err := e.readSequence()
		if err != nil {
			return nil, err
		}
		if all = append(all, alternative...); len(all) > maxAlternatives {
			return nil, tooMany()
		}
		if end != syntax.TermSeparator {
			return all, nil
		}
	}
}

// combine appends each of the endings to each of the beginnings.
func (e *expander) combine(beginnings, endings []expansion) ([]expansion, error) {
	if len(beginnings)*len(endings) > maxAlternatives {
		return nil, tooMany()
	}
	all := make([]expansion, 0, len(beginnings)*len(endings))
	for _, b := range beginnings {
		for _, end := range endings {
			all = append(all, expansion{b.text + end.text, b.single + end.single})
		}
	}
	return all, e.checkCost(all)
}

// checkCost rejects patterns that would be slow to match.
func (e *expander) checkCost(all []expansion) error {
	bytes, single, where := 0, 0, ""
	for _, p := range all {
		bytes += len(p.text)
		single += p.single
	}
	if e.groups {
		where = " when its alternatives are written out"
	}
	switch {
	case bytes > maxExpanded:
		return fmt.Errorf("the pattern has %d bytes%s; at most %d are allowed", bytes, where, maxExpanded)
	case single > maxSingle:
		return fmt.Errorf("the pattern has %d '?' and '[…]'%s; at most %d are allowed", single, where, maxSingle)
	}
	return nil
}

func tooMany() error {
	return fmt.Errorf("the alternatives of the pattern have more than %d combinations", maxAlternatives)
}
