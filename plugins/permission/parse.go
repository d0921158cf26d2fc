package permission

import (
	"encoding/json"
	"fmt"
	"slices"
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

// matcherAhead goes past path: or command: when one of them is next.
func (p *parser) matcherAhead() (operandKind, bool) {
	for kind, prefix := range primaryPrefixes {
		if strings.HasPrefix(p.text[p.pos:], prefix) {
			p.pos += len(prefix)
			return kind, true
		}
	}
	return 0, false
}

// conditionAhead reports whether a path and an operator are next, or what is
// meant for one.
func (p *parser) conditionAhead() bool {
	ahead := *p
	if _, err := ahead.path(); err != nil {
		return false
	}
	ahead.blanks()
	return operatorSign(ahead.text[ahead.pos:]) != "" || operatorWord(ahead.text[ahead.pos:]) != ""
}

// operatorSign returns the signs of operators that a text begins with.
func operatorSign(text string) string {
	if strings.HasPrefix(text, "!") && strings.Trim(text[:min(2, len(text))], "!=~<>") != "" {
		return "" // as in echo !x
	}
	return text[:len(text)-len(strings.TrimLeft(text, "=!<>~"))]
}

// operatorWords are words that other languages have for operators. One of them
// counts as an operator when a value follows it.
var operatorWords = strings.Fields("not_in is eq ne neq gt gte ge lt lte le like matches contains between startswith starts_with endswith ends_with -eq -ne -gt -ge -lt -le")

// operatorWord returns the operator "in", or a word that is meant for an
// operator, when a text begins with it.
func operatorWord(text string) string {
	word := text[:len(text)-len(strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !strings.ContainsRune(`()[]"`, r) }))]
	rest := strings.TrimLeftFunc(text[len(word):], unicode.IsSpace)
	switch {
	case rest == "":
		return ""
	case word == string(among):
		if isValue(rest) || strings.HasPrefix(rest, "(") {
			return word
		}
	case word == "not" && strings.HasPrefix(rest, string(among)) && operatorWord(rest) != "":
		return "not in"
	case slices.Contains(operatorWords, strings.ToLower(word)) && isValue(rest):
		return word
	}
	return ""
}

// isValue reports whether a text begins with what can only be a value.
func isValue(text string) bool {
	if text[0] == '"' || text[0] == '[' {
		return true
	}
	number, _ := scanWord(text)
	_, ok := parseDecimal(json.Number(number))
	return ok
}

// scanWord returns the letters, digits and signs of numbers that a text begins
// with.
func scanWord(text string) (word, rest string) {
	rest = strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-._", r) })
	return text[:len(text)-len(rest)], rest
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
	op, err := p.operator(at)
	if err != nil {
		return condition{}, err
	}
	p.blanks()
	value, err := p.operand(op)
	if err != nil {
		return condition{}, err
	}
	return condition{path: at, op: op, value: value}, nil
}

// operatorList is for messages.
const operatorList = "== != > >= < <= in ~ !~ = =~ or !=~"

func (p *parser) operator(at path) (operator, error) {
	from, rest := p.pos, p.text[p.pos:]
	if word := operatorWord(rest); word == string(among) {
		p.pos += len(word)
		return among, nil
	} else if word != "" {
		return "", p.fault(from, "%q is no operator; there are %s", word, operatorList)
	}
	sign := operatorSign(rest)
	p.pos += len(sign)
	switch {
	case sign == "":
		return "", p.fault(from, "an operator must follow the path %s: %s", at, operatorList)
	case slices.Contains(operators, operator(sign)):
		return operator(sign), nil
	}
	return "", p.fault(from, `%q is no operator; there are %s. To match the text itself, write \%s`, sign, operatorList, sign)
}

// operand reads the value that a condition compares with.
func (p *parser) operand(op operator) (operand, error) {
	from := p.pos
	switch {
	case op == among:
		return p.list()
	case op.ordered():
		o, err := p.literal(op)
		if err == nil && o.kind != ofNumber {
			err = p.fault(from, "%s compares numbers; write one without quotes", op)
		}
		return o, err
	case slices.Contains([]operator{equal, same, notEqual}, op):
		return p.literal(op)
	}
	kind := ofGlob
	if op == matches || op == notMatches {
		kind = ofRegex
	} else if matcher, ok := p.matcherAhead(); ok {
		kind = matcher
		p.blanks()
	}
	text, err := p.quoted(op)
	if err != nil {
		return operand{}, err
	}
	o, err := newPattern(kind, text)
	if err != nil {
		return operand{}, p.fault(from, "%v", err)
	}
	return o, nil
}

// list reads [value, value].
func (p *parser) list() (operand, error) {
	from := p.pos
	if p.next() != '[' {
		return operand{}, p.fault(from, `a list must follow in, as in ["a", "b"]; to match the text itself, write \in`)
	}
	o := operand{kind: ofList}
	for {
		p.pos++
		p.blanks()
		value, err := p.literal(among)
		if err != nil {
			return operand{}, err
		}
		o.list = append(o.list, value)
		p.blanks()
		switch p.next() {
		case ']':
			p.pos++
			return o, nil
		case ',':
		default:
			return operand{}, p.fault(from, "the list is not closed by a ']'")
		}
	}
}

// literal reads a text in quotes, a number, true, false or null.
func (p *parser) literal(op operator) (operand, error) {
	if p.next() == '"' {
		text, err := p.quoted(op)
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
		if op.ordered() {
			return operand{}, p.fault(from, `a number must follow %s; to match the text itself, write \%s`, op, op)
		}
		return operand{}, p.fault(from, `a value in double quotes must follow %s, or a number, true, false or null; to match the text itself, write \%s`, op, op)
	}
	p.pos += len(word)
	return operand{kind: ofNumber, text: number.String(), number: number}, nil
}

// quoted reads a text in quotes.
func (p *parser) quoted(op operator) (string, error) {
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
func (p *parser) primary(open int) (*operand, error) {
	kind, matcher := p.matcherAhead()
	if !matcher {
		kind = ofGlob
	}
	p.blanks()
	from, depth := p.pos, 0
	for ; !p.end(); p.skip() {
		switch p.next() {
		case '(':
			depth++
		case ')':
			depth--
		case '"':
			if p.afterOperator(from) || matcher && p.pos == from {
				return nil, p.fault(from, `this reads like a condition, but does not begin with a path such as files[0].name; to match the text itself, write \"`)
			}
		case '<', '>', '=':
			if sign := operatorSign(p.text[p.pos:]); !matcher && p.comparesNumber(sign) {
				return nil, p.fault(from, `this reads like a condition, but does not begin with a path such as files[0].name; to match the text itself, write \%s`, sign)
			}
		}
		if depth < 0 {
			text := strings.TrimRightFunc(p.text[from:p.pos], unicode.IsSpace)
			p.pos++
			glob, err := newPattern(kind, text)
			if err != nil {
				return nil, p.fault(from, "%v", err)
			}
			return &glob, nil
		}
	}
	return nil, p.fault(open, "the parenthesis is not closed")
}

// comparesNumber reports whether an operator is next that a number and the end of
// a condition follow. Such a text is hardly a command.
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
