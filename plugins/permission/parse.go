package permission

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// maxRule bounds a rule, in bytes.
const maxRule = 16 << 10

// ParseError says why a text is no rule.
type ParseError struct {
	// Rule is the text.
	Rule string
	// Column is the number of the character, from 1, at which the fault is.
	Column int
	// Message says what is wrong there.
	Message string
}

// Error returns the rule, the place and what is wrong.
func (e *ParseError) Error() string {
	const longest = 120
	rule := []rune(e.Rule)
	if len(rule) > longest {
		rule = append(rule[:longest], '…')
	}
	return fmt.Sprintf("rule %q, character %d: %s", string(rule), e.Column, e.Message)
}

// ParseRule parses a rule; the package describes how one is written. The error
// is a *ParseError.
func ParseRule(text string) (Rule, error) {
	p := parser{text: text}
	rule, err := p.rule()
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

func (p *parser) fault(at int, format string, args ...any) error {
	return &ParseError{
		Rule: p.text, Column: utf8.RuneCountInString(p.text[:at]) + 1, Message: fmt.Sprintf(format, args...),
	}
}

func (p *parser) rule() (r Rule, err error) {
	switch {
	case len(p.text) > maxRule:
		return r, p.fault(0, "the rule has %d bytes; at most %d are allowed", len(p.text), maxRule)
	case !utf8.ValidString(p.text):
		return r, p.fault(0, "the rule is no valid UTF-8")
	}
	p.blanks()
	if p.end() {
		return r, p.fault(0, "the rule is empty")
	}
	if r.tool, err = p.tool(); err != nil {
		return r, err
	}
	p.blanks()
	if p.end() {
		return r, nil
	}
	if p.next() != '(' {
		return r, p.fault(p.pos, "%q follows the tool; only arguments in parentheses may", p.char())
	}
	if err := p.arguments(&r); err != nil {
		return r, err
	}
	p.blanks()
	if !p.end() {
		return r, p.fault(p.pos, "%q follows the closing parenthesis; nothing may", p.char())
	}
	return r, nil
}

func (p *parser) end() bool { return p.pos >= len(p.text) }

// next returns the byte at the position, 0 at the end.
func (p *parser) next() byte {
	if p.end() {
		return 0
	}
	return p.text[p.pos]
}

// char returns the character at the position, for messages.
func (p *parser) char() string {
	_, size := utf8.DecodeRuneInString(p.text[p.pos:])
	return p.text[p.pos : p.pos+size]
}

func (p *parser) blanks() {
	p.pos = len(p.text) - len(strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace))
}

// skip goes past the character at the position, and past the one that it
// escapes.
func (p *parser) skip() {
	if p.next() == '\\' && p.pos+1 < len(p.text) {
		p.pos++
	}
	_, size := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += size
}

func (p *parser) tool() (toolPattern, error) {
	if p.next() == '/' {
		return p.toolRegex()
	}
	from := p.pos
	for !p.end() && p.next() != '(' {
		if r, _ := utf8.DecodeRuneInString(p.text[p.pos:]); unicode.IsSpace(r) {
			break
		}
		if p.next() == ')' {
			return toolPattern{}, p.fault(p.pos, "the parenthesis closes none")
		}
		p.skip()
	}
	t := toolPattern{kind: byName, text: p.text[from:p.pos]}
	if t.text == "" {
		return t, p.fault(from, "a tool must stand ahead of the parenthesis")
	}
	if !strings.ContainsAny(t.text, `*?[{\`) {
		return t, nil
	}
	t.kind = byGlob
	var err error
	if t.glob, err = pattern.Compile(t.text); err != nil {
		return t, p.fault(from, "%v", err)
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
		case p.end():
			return toolPattern{}, p.fault(from, "the regular expression is not closed by a '/'")
		case c == '/':
			p.pos++
			t := toolPattern{kind: byRegex, text: b.String()}
			var err error
			if t.regex, err = compileRegex(t.text); err != nil {
				return t, p.fault(from, "%v", err)
			}
			return t, nil
		case c == '\\' && strings.HasPrefix(p.text[p.pos:], `\/`):
			b.WriteByte('/')
			p.pos += len(`\/`)
		default:
			at := p.pos
			p.skip()
			b.WriteString(p.text[at:p.pos])
		}
	}
}

// arguments reads what stands in the parentheses, and those.
func (p *parser) arguments(r *Rule) (err error) {
	open := p.pos
	p.pos++
	p.blanks()
	switch rest := p.text[p.pos:]; {
	case p.next() == ')':
		return p.fault(open, "the parentheses are empty; leave them out, or write (*)")
	case rest != "" && rest[0] == '*' && strings.HasPrefix(strings.TrimLeftFunc(rest[1:], unicode.IsSpace), ")"):
		r.star = true
		p.pos++
		p.blanks()
		p.pos++
		return nil
	case p.conditionAhead():
		r.conditions, err = p.conditions(open)
		return err
	default:
		r.primary, err = p.primary(open)
		return err
	}
}

// conditionAhead reports whether a path and an operator are next.
func (p *parser) conditionAhead() bool {
	ahead := *p
	if _, err := ahead.path(); err != nil {
		return false
	}
	ahead.blanks()
	_, ok := ahead.operator()
	return ok
}

func (p *parser) conditions(open int) ([]condition, error) {
	var list []condition
	for {
		c, err := p.condition()
		if err != nil {
			return nil, err
		}
		list = append(list, c)
		p.blanks()
		switch {
		case p.end():
			return nil, p.fault(open, "the parenthesis is not closed")
		case p.next() == ')':
			p.pos++
			return list, nil
		case p.next() != ',':
			return nil, p.fault(p.pos, "%q follows a condition; a ',' or ')' must", p.char())
		}
		p.pos++
		p.blanks()
	}
}

func (p *parser) condition() (condition, error) {
	at, err := p.path()
	if err != nil {
		return condition{}, err
	}
	p.blanks()
	op, ok := p.operator()
	if !ok {
		return condition{}, p.fault(p.pos, "an operator must follow the path %s: ~ = =~ !~ != or !=~", at)
	}
	p.blanks()
	from := p.pos
	value, err := p.value(op)
	if err != nil {
		return condition{}, err
	}
	c, err := newCondition(at, op, value)
	if err != nil {
		return condition{}, p.fault(from, "%v", err)
	}
	return c, nil
}

func (p *parser) operator() (operator, bool) {
	for _, op := range operators {
		if strings.HasPrefix(p.text[p.pos:], string(op)) {
			p.pos += len(op)
			return op, true
		}
	}
	return "", false
}

func (p *parser) value(op operator) (string, error) {
	from := p.pos
	if p.next() != '"' {
		return "", p.fault(from, `a value in double quotes must follow %s; to match the text itself, write \%s`, op, op)
	}
	p.pos++
	var b strings.Builder
	for !p.end() {
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
	return "", p.fault(from, "the quote is not closed")
}

func (p *parser) path() (path, error) {
	var at path
	for {
		s, err := p.key()
		if err != nil {
			return nil, err
		}
		at = append(at, s)
		for p.next() == '[' {
			if s, err = p.element(); err != nil {
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

func (p *parser) key() (step, error) {
	if p.next() == '*' {
		p.pos++
		return step{kind: toAnyKey}, nil
	}
	from := p.pos
	for isIdentifier(p.next()) {
		p.pos++
	}
	if p.pos == from {
		return step{}, p.fault(from, "the name of an argument must stand here: letters, digits, '_' and '-', or '*'")
	}
	return step{kind: toKey, key: p.text[from:p.pos]}, nil
}

func isIdentifier(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// element reads [n] or [*].
func (p *parser) element() (step, error) {
	from := p.pos
	inside, _, closed := strings.Cut(p.text[p.pos+1:], "]")
	if !closed {
		return step{}, p.fault(from, "the bracket is not closed")
	}
	p.pos += len(inside) + len("[]")
	if inside == "*" {
		return step{kind: toAnyElement}, nil
	}
	n, err := strconv.ParseUint(inside, 10, 31)
	if err != nil {
		return step{}, p.fault(from, "brackets hold the number of an element, or '*'; not %q", inside)
	}
	return step{kind: toElement, index: int(n)}, nil //nolint:gosec // it has 31 bits
}

// primary reads the glob over the one argument, up to the parenthesis that
// closes the one at open.
func (p *parser) primary(open int) (*pattern.Pattern, error) {
	from, depth := p.pos, 0
	for ; !p.end(); p.skip() {
		switch p.next() {
		case '(':
			depth++
		case ')':
			depth--
		case '"':
			if p.afterOperator(from) {
				return nil, p.fault(from, `this reads like a condition, but does not begin with a path such as files[0].name; to match the text itself, write \"`)
			}
		}
		if depth < 0 {
			text := strings.TrimRightFunc(p.text[from:p.pos], unicode.IsSpace)
			p.pos++
			glob, err := pattern.Compile(text)
			if err != nil {
				return nil, p.fault(from, "%v", err)
			}
			return &glob, nil
		}
	}
	return nil, p.fault(open, "the parenthesis is not closed")
}

// afterOperator reports whether an operator stands right ahead of the position.
func (p *parser) afterOperator(from int) bool {
	before := strings.TrimRightFunc(p.text[from:p.pos], unicode.IsSpace)
	if before == "" {
		return false
	}
	last := before[len(before)-1]
	escaped := strings.HasSuffix(before[:len(before)-1], `\`)
	return (last == '=' || last == '~') && !escaped
}
