package permission

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// parsePrimary reads the glob over the one argument, up to the parenthesis that
// closes the one at open.
func (p *parser) parsePrimary(open int) (*operand, error) {
	kind, matcher := p.matcherAhead()
	if !matcher {
		kind = ofGlob
	}
	p.skipBlanks()
	from, depth := p.pos, 0
	for ; !p.atEnd(); p.skipChar() {
		switch p.next() {
		case '(':
			depth++
		case ')':
			depth--
		case '"':
			if p.afterOperator(from) || matcher && p.pos == from {
				return nil, p.errorAt(from, `this reads like a condition, but does not begin with a path such as files[0].name; to match the text itself, write \"`)
			}
		case '<', '>', '=':
			if sign := operatorSign(p.text[p.pos:]); !matcher && p.comparesNumber(sign) {
				return nil, p.errorAt(from, `this reads like a condition, but does not begin with a path such as files[0].name; to match the text itself, write \%s`, sign)
			}
		}
		if depth < 0 {
			text := strings.TrimRightFunc(p.text[from:p.pos], unicode.IsSpace)
			p.pos++
			glob, err := newPattern(kind, text)
			if err != nil {
				return nil, p.errorAt(from, "%v", err)
			}
			return &glob, nil
		}
	}
	return nil, p.errorAt(open, "the parenthesis is not closed")
}

// comparesNumber reports whether an operator, a number and the end of a condition follow. Such a
// text is hardly a command.
func (p *parser) comparesNumber(sign string) bool {
	if !slices.Contains([]string{">", ">=", "<", "<=", "==", "="}, sign) {
		return false
	}
	word, rest := scanWord(strings.TrimLeftFunc(p.text[p.pos+len(sign):], unicode.IsSpace))
	_, number := parseDecimal(json.Number(word))
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	spaced := p.pos > 0 && p.text[p.pos-1] == ' ' || sign == "==" || sign == ">=" || sign == "<="
	return number && spaced && (rest == "" || rest[0] == ')' || rest[0] == ',')
}

// afterOperator reports whether an operator precedes the position.
func (p *parser) afterOperator(from int) bool {
	before := strings.TrimRightFunc(p.text[from:p.pos], unicode.IsSpace)
	if before == "" {
		return false
	}
	last := before[len(before)-1]
	escaped := strings.HasSuffix(before[:len(before)-1], `\`)
	return (last == '=' || last == '~') && !escaped
}
