package permission

import (
	"strconv"
	"strings"
)

func (p *parser) parsePath() (path, error) {
	var at path
	for {
		s, err := p.parseKey()
		if err != nil {
			return nil, err
		}
		at = append(at, s)
		for p.next() == '[' {
			if s, err = p.parseElement(); err != nil {
				return nil, err
			}
			at = append(at, s)
		}
		if p.next() != '.' {
			return at, nil
		}
		p.pos++
	}
}

func (p *parser) parseKey() (step, error) {
	if p.next() == '*' {
		p.pos++
		return step{kind: toAnyKey}, nil
	}
	from := p.pos
	for isIdentifier(p.next()) {
		p.pos++
	}
	if p.pos == from {
		return step{}, p.errorAt(from, "the name of an argument must stand here: letters, digits, '_' and '-', or '*'")
	}
	return step{kind: toKey, key: p.text[from:p.pos]}, nil
}

func isIdentifier(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// parseElement reads [n] or [*].
func (p *parser) parseElement() (step, error) {
	from := p.pos
	inside, _, closed := strings.Cut(p.text[p.pos+1:], "]")
	if !closed {
		return step{}, p.errorAt(from, "the bracket is not closed")
	}
	p.pos += len(inside) + len("[]")
	if inside == "*" {
		return step{kind: toAnyElement}, nil
	}
	n, err := strconv.ParseUint(inside, 10, 31)
	if err != nil {
		return step{}, p.errorAt(from, "brackets hold the number of an element, or '*'; not %q", inside)
	}
	return step{kind: toElement, index: int(n)}, nil //nolint:gosec // it has 31 bits
}
