package permission

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// parseOperand parses the operand of a condition.
func (p *parser) parseOperand(op operator) (operand, error) {
	from := p.pos
	switch {
	case op == among:
		return p.parseList()
	case op.comparesOrder():
		o, err := p.parseLiteral(op)
		if err == nil && o.kind != ofNumber {
			err = p.errorAt(from, "%s compares numbers; write one without quotes", op)
		}
		return o, err
	case slices.Contains([]operator{equal, same, notEqual}, op):
		return p.parseLiteral(op)
	}
	kind := ofGlob
	if op == matches || op == notMatches {
		kind = ofRegex
	} else if matcher, ok := p.matcherAhead(); ok {
		kind = matcher
		p.skipBlanks()
	}
	text, err := p.parseQuoted(op)
	if err != nil {
		return operand{}, err
	}
	o, err := newPattern(kind, text)
	if err != nil {
		return operand{}, p.errorAt(from, "%v", err)
	}
	return o, nil
}

// parseList reads [value, value].
func (p *parser) parseList() (operand, error) {
	from := p.pos
	if p.next() != '[' {
		return operand{}, p.errorAt(from, `a list must follow in, as in ["a", "b"]; to match the text itself, write \in`)
	}
	o := operand{kind: ofList}
	for {
		p.pos++
		p.skipBlanks()
		value, err := p.parseLiteral(among)
		if err != nil {
			return operand{}, err
		}
		o.list = append(o.list, value)
		p.skipBlanks()
		switch p.next() {
		case ']':
			p.pos++
			return o, nil
		case ',':
		default:
			return operand{}, p.errorAt(from, "the list is not closed by a ']'")
		}
	}
}

// parseLiteral reads a quoted text, a number, true, false or null.
func (p *parser) parseLiteral(op operator) (operand, error) {
	if p.next() == '"' {
		text, err := p.parseQuoted(op)
		return operand{kind: ofText, text: text}, err
	}
	from := p.pos
	word, rest := scanWord(p.text[p.pos:])
	switch word {
	case "true", "false":
		p.pos += len(word)
		return operand{kind: ofBoolean, text: word}, nil
	case "null":
		p.pos += len(word)
		return operand{kind: ofNull, text: word}, nil
	}
	number, ok := parseDecimal(json.Number(word))
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	if !ok || strings.Trim(rest[:min(1, len(rest))], ",)]") != "" {
		if op.comparesOrder() {
			return operand{}, p.errorAt(from, `a number must follow %s; to match the text itself, write \%s`, op, op)
		}
		return operand{}, p.errorAt(from, `a value in double quotes must follow %s, or a number, true, false or null; to match the text itself, write \%s`, op, op)
	}
	p.pos += len(word)
	return operand{kind: ofNumber, text: number.String(), number: number}, nil
}

// parseQuoted reads a quoted text.
func (p *parser) parseQuoted(op operator) (string, error) {
	from := p.pos
	if p.next() != '"' {
		return "", p.errorAt(from, `a value in double quotes must follow %s; to match the text itself, write \%s`, op, op)
	}
	p.pos++
	var b strings.Builder
	for !p.atEnd() {
		switch rest := p.text[p.pos:]; {
		case rest[0] == '"':
			p.pos++
			return b.String(), nil
		case strings.HasPrefix(rest, `\"`), strings.HasPrefix(rest, `\\`):
			b.WriteByte(rest[1])
			p.pos += 2
		default:
			b.WriteByte(rest[0])
			p.pos++
		}
	}
	return "", p.errorAt(from, "the quote is not closed")
}
