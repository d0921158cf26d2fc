package permission

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// maxRule bounds a rule, in bytes.
const maxRule = 16 << 10

// ParseError explains why a text is not a rule.
type ParseError struct {
	// Rule is the text.
	Rule string
	// Column is the number of the faulty character, from 1.
	Column int
	// Message describes the fault.
	Message string
}

// Error returns the rule, the position and the problem.
func (e *ParseError) Error() string {
	const longest = 120
	rule := []rune(e.Rule)
	if len(rule) > longest {
		rule = append(rule[:longest], '…')
	}
	return fmt.Sprintf("rule %q, character %d: %s", string(rule), e.Column, e.Message)
}

// ParseRule parses a rule; the package documents the syntax. The error is a *ParseError.
func ParseRule(text string) (Rule, error) {
	p := parser{text: text}
	rule, err := p.parseRule()
	if err != nil {
		return Rule{}, err
	}
	return rule, nil
}

// parser reads one rule.
type parser struct {
	text string
	pos  int
}

func (p *parser) errorAt(at int, format string, args ...any) error {
	return &ParseError{
		Rule: p.text, Column: utf8.RuneCountInString(p.text[:at]) + 1, Message: fmt.Sprintf(format, args...),
	}
}

func (p *parser) parseRule() (r Rule, err error) {
	switch {
	case len(p.text) > maxRule:
		return r, p.errorAt(0, "the rule has %d bytes; at most %d are allowed", len(p.text), maxRule)
	case !utf8.ValidString(p.text):
		return r, p.errorAt(0, "the rule is not valid UTF-8")
	}
	p.skipBlanks()
	if p.atEnd() {
		return r, p.errorAt(0, "the rule is empty")
	}
	if r.tool, err = p.parseTool(); err != nil {
		return r, err
	}
	p.skipBlanks()
	if p.atEnd() {
		return r, nil
	}
	if p.next() != '(' {
		return r, p.errorAt(p.pos, "%q follows the tool; only arguments in parentheses may", p.nextChar())
	}
	if err := p.parseArguments(&r); err != nil {
		return r, err
	}
	p.skipBlanks()
	if !p.atEnd() {
		return r, p.errorAt(p.pos, "%q follows the closing parenthesis; nothing may", p.nextChar())
	}
	return r, nil
}

func (p *parser) atEnd() bool { return p.pos >= len(p.text) }

// next returns the byte at the position, 0 at the end.
func (p *parser) next() byte {
	if p.atEnd() {
		return 0
	}
	return p.text[p.pos]
}

// nextChar returns the character at the position, for messages.
func (p *parser) nextChar() string {
	_, size := utf8.DecodeRuneInString(p.text[p.pos:])
	return p.text[p.pos : p.pos+size]
}

func (p *parser) skipBlanks() {
	p.pos = len(p.text) - len(strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace))
}

// skipChar skips the current character, and an escaped one after it.
func (p *parser) skipChar() {
	if p.next() == '\\' && p.pos+1 < len(p.text) {
		p.pos++
	}
	_, size := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += size
}

func (p *parser) parseTool() (toolPattern, error) {
	if p.next() == '/' {
		return p.toolRegex()
	}
	from := p.pos
	for !p.atEnd() && p.next() != '(' {
		if r, _ := utf8.DecodeRuneInString(p.text[p.pos:]); unicode.IsSpace(r) {
			break
		}
		if p.next() == ')' {
			return toolPattern{}, p.errorAt(p.pos, "unmatched closing parenthesis")
		}
		p.skipChar()
	}
	t := toolPattern{kind: byName, text: p.text[from:p.pos]}
	if t.text == "" {
		return t, p.errorAt(from, "a tool is required before the parenthesis")
	}
	if !strings.ContainsAny(t.text, `*?[{\`) {
		return t, nil
	}
	t.kind = byGlob
	var err error
	if t.glob, err = pattern.Compile(t.text); err != nil {
		return t, p.errorAt(from, "%v", err)
	}
	return t, nil
}

// toolRegex reads /regex/.
func (p *parser) toolRegex() (toolPattern, error) {
	from := p.pos
	p.pos++
	var b strings.Builder
	for {
		switch c := p.next(); {
		case p.atEnd():
			return toolPattern{}, p.errorAt(from, "the regular expression is not closed by a '/'")
		case c == '/':
			p.pos++
			t := toolPattern{kind: byRegex, text: b.String()}
			var err error
			if t.regex, err = compileRegex(t.text); err != nil {
				return t, p.errorAt(from, "%v", err)
			}
			return t, nil
		case c == '\\' && strings.HasPrefix(p.text[p.pos:], `\/`):
			b.WriteByte('/')
			p.pos += len(`\/`)
		default:
			at := p.pos
			p.skipChar()
			b.WriteString(p.text[at:p.pos])
		}
	}
}

// parseArguments parses the parenthesized arguments.
func (p *parser) parseArguments(r *Rule) (err error) {
	open := p.pos
	p.pos++
	p.skipBlanks()
	switch rest := p.text[p.pos:]; {
	case p.next() == ')':
		return p.errorAt(open, "the parentheses are empty; leave them out, or write (*)")
	case rest != "" && rest[0] == '*' && strings.HasPrefix(strings.TrimLeftFunc(rest[1:], unicode.IsSpace), ")"):
		r.star = true
		p.pos++
		p.skipBlanks()
		p.pos++
		return nil
	case p.conditionAhead():
		r.conditions, err = p.parseConditions(open)
		return err
	default:
		r.primary, err = p.parsePrimary(open)
		return err
	}
}
