package permission

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// matcherAhead skips path: or command: if one of them is next.
func (p *parser) matcherAhead() (operandKind, bool) {
	for kind, prefix := range primaryPrefixes {
		if strings.HasPrefix(p.text[p.pos:], prefix) {
			p.pos += len(prefix)
			return kind, true
		}
	}
	return 0, false
}

// conditionAhead reports whether a path and an operator follow, or something intended as an
// operator.
func (p *parser) conditionAhead() bool {
	next := *p
	if _, err := next.parsePath(); err != nil {
		return false
	}
	next.skipBlanks()
	return operatorSign(next.text[next.pos:]) != "" || operatorWord(next.text[next.pos:]) != ""
}

// operatorSign returns the operator signs at the beginning of text.
func operatorSign(text string) string {
	if strings.HasPrefix(text, "!") && strings.Trim(text[:min(2, len(text))], "!=~<>") != "" {
		return "" // as in echo !x
	}
	return text[:len(text)-len(strings.TrimLeft(text, "=!<>~"))]
}

// operatorWords are other languages' operator words. Such a word counts as an operator if a value
// follows it.
var operatorWords = strings.Fields("not_in is eq ne neq gt gte ge lt lte le like matches contains between startswith starts_with endswith ends_with -eq -ne -gt -ge -lt -le")

// operatorWord returns the operator "in", or a word intended as an operator, at the beginning of
// text.
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

// isValue reports whether text begins with something that can only be a value.
func isValue(text string) bool {
	if text[0] == '"' || text[0] == '[' {
		return true
	}
	number, _ := scanWord(text)
	_, ok := parseDecimal(json.Number(number))
	return ok
}

// scanWord returns the letters, digits and number signs at the beginning of text.
func scanWord(text string) (word, rest string) {
	rest = strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-._", r) })
	return text[:len(text)-len(rest)], rest
}

func (p *parser) parseConditions(open int) ([]condition, error) {
	var list []condition
	for {
		c, err := p.parseCondition()
		if err != nil {
			return nil, err
		}
		list = append(list, c)
		p.skipBlanks()
		switch {
		case p.atEnd():
			return nil, p.errorAt(open, "the parenthesis is not closed")
		case p.next() == ')':
			p.pos++
			return list, nil
		case p.next() != ',':
			return nil, p.errorAt(p.pos, "%q follows a condition; a ',' or ')' must", p.nextChar())
		}
		p.pos++
		p.skipBlanks()
	}
}

func (p *parser) parseCondition() (condition, error) {
	at, err := p.parsePath()
	if err != nil {
		return condition{}, err
	}
	p.skipBlanks()
	op, err := p.parseOperator(at)
	if err != nil {
		return condition{}, err
	}
	p.skipBlanks()
	value, err := p.parseOperand(op)
	if err != nil {
		return condition{}, err
	}
	return condition{path: at, op: op, value: value}, nil
}

// operatorList is for messages.
const operatorList = "== != > >= < <= in ~ !~ = =~ or !=~"

func (p *parser) parseOperator(at path) (operator, error) {
	from, rest := p.pos, p.text[p.pos:]
	if word := operatorWord(rest); word == string(among) {
		p.pos += len(word)
		return among, nil
	} else if word != "" {
		return "", p.errorAt(from, "unknown operator %q; use %s", word, operatorList)
	}
	sign := operatorSign(rest)
	p.pos += len(sign)
	switch {
	case sign == "":
		return "", p.errorAt(from, "an operator must follow the path %s: %s", at, operatorList)
	case slices.Contains(operators, operator(sign)):
		return operator(sign), nil
	}
	return "", p.errorAt(from, `unknown operator %q; use %s. To match the text itself, write \%s`, sign, operatorList, sign)
}
