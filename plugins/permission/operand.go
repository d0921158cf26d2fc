package permission

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// operandKind is the kind of a condition's operand.
type operandKind uint8

const (
	// ofText is a quoted text.
	ofText operandKind = iota
	ofNumber
	ofBoolean
	ofNull
	// ofList is the list that "in" searches.
	ofList
	ofGlob
	ofRegex
	// ofPath is a glob over cleaned file paths, and ofCommand a glob over a shell's simple
	// commands.
	ofPath
	ofCommand
)

// operand is the right side of a condition.
type operand struct {
	kind operandKind
	// text is the value, the glob or the expression.
	text    string
	number  decimal
	list    []operand
	regex   *pattern.Regexp
	glob    pattern.Pattern
	path    *pathPattern
	command *commandPattern
}

// String returns the operand in rule syntax.
func (o *operand) String() string {
	switch o.kind {
	case ofNumber, ofBoolean, ofNull:
		return o.text
	case ofList:
		texts := make([]string, len(o.list))
		for i := range o.list {
			texts[i] = o.list[i].String()
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case ofPath:
		return "path:" + quoteText(o.text)
	case ofCommand:
		return "command:" + quoteText(o.text)
	default:
		return quoteText(o.text)
	}
}

func quoteText(text string) string { return `"` + quoter.Replace(text) + `"` }

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// equalsValue compares a value strictly: a string never equals a number. Values of different
// types cannot be compared.
func (o *operand) equalsValue(v any) truth {
	switch v := v.(type) {
	case string:
		if o.kind == ofText {
			return truthOf(v == o.text)
		}
	case json.Number:
		if o.kind == ofNumber {
			d, ok := parseDecimal(v)
			if !ok {
				return unknown
			}
			return truthOf(d.compare(o.number) == 0)
		}
	case bool:
		if o.kind == ofBoolean {
			return truthOf(v == (o.text == "true"))
		}
	case nil:
		return orUnknown(o.kind == ofNull)
	}
	if o.kind == ofNull {
		return no // any other value is not null
	}
	return unknown
}

// equalsText compares a value with a quoted text as rules always could: by the value's text, where
// a number has one text however it is written.
func (o *operand) equalsText(v any) truth {
	switch v := v.(type) {
	case string:
		return truthOf(v == o.text)
	case json.Number:
		literal, ok := parseDecimal(json.Number(o.text))
		d, readable := parseDecimal(v)
		if ok && readable {
			return truthOf(literal.compare(d) == 0)
		}
	case bool:
		if o.text == "true" || o.text == "false" {
			return truthOf(o.text == textOf(v))
		}
	}
	return orUnknown(textOf(v) == o.text)
}

// orUnknown returns yes if holds is true, else unknown.
func orUnknown(holds bool) truth {
	if holds {
		return yes
	}
	return unknown
}

// listContains looks for a value in a list.
func (o *operand) listContains(v any) truth {
	known := false
	for i := range o.list {
		switch o.list[i].equalsValue(v) {
		case yes:
			return yes
		case no:
			known = true
		case unknown:
		}
	}
	if known {
		return no
	}
	return unknown
}

// compareNumber compares numbers, the only ordered values.
func (o *operand) compareNumber(op operator, v any) truth {
	n, ok := v.(json.Number)
	if !ok {
		return unknown
	}
	d, ok := parseDecimal(n)
	if !ok {
		return unknown
	}
	c := d.compare(o.number)
	switch op {
	case greater:
		return truthOf(c > 0)
	case atLeast:
		return truthOf(c >= 0)
	case less:
		return truthOf(c < 0)
	default:
		return truthOf(c <= 0)
	}
}

// matchOperand compares a value with a pattern. Patterns also match the text of numbers and
// booleans. A list, object or null that does not match is undecided, because a tool need not use
// its text.
func (a *arguments) matchOperand(o *operand, v any) truth {
	if o.kind == ofPath || o.kind == ofCommand {
		text, ok := v.(string)
		if !ok || !a.spend(len(text)*o.glob.Cost()) {
			return unknown
		}
		if o.kind == ofCommand {
			return o.command.matchCommands(a.splitCommand(text))
		}
		return o.path.matchPath(text)
	}
	text := textOf(v)
	fits := false
	switch {
	case o.kind == ofRegex:
		if len(text) > o.regex.Longest() || !a.spend(len(text)*o.regex.Size) {
			return unknown
		}
		fits = o.regex.MatchString(text)
	case !a.spend(len(text) * o.glob.Cost()):
		return unknown
	default:
		fits = o.glob.Match(text)
	}
	switch v.(type) {
	case string, json.Number, bool:
		return truthOf(fits)
	default:
		return orUnknown(fits)
	}
}

// kindOf returns the human-readable kind of a value.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case nil:
		return "null"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

// newPattern compiles the operand of ~ and !~, or of =~ and !=~.
func newPattern(kind operandKind, text string) (o operand, err error) {
	o = operand{kind: kind, text: text}
	switch kind {
	case ofRegex:
		o.regex, err = compileRegex(text)
	case ofPath:
		if o.path, err = compilePath(text); err == nil {
			o.glob = o.path.glob
		}
	case ofCommand:
		if o.command, err = compileCommand(text); err == nil {
			o.glob = o.command.glob
		}
	default:
		o.glob, err = pattern.Compile(text)
	}
	return o, err
}

// maxRegex bounds a regular expression, in bytes, so that matching stays cheap.
const maxRegex = 1024

func compileRegex(source string) (*pattern.Regexp, error) {
	switch {
	case source == "":
		return nil, fmt.Errorf("the regular expression is empty")
	case len(source) > maxRegex:
		return nil, fmt.Errorf("the regular expression has %d bytes; at most %d are allowed", len(source), maxRegex)
	}
	regex, err := pattern.CompileRegexp(source)
	if err != nil {
		return nil, fmt.Errorf("the regular expression is invalid: %w", err)
	}
	return regex, nil
}

// isWithin reports whether other is known to match everything that o matches: other has no wildcard
// but '*', and matches o when each wildcard in o is a character that only a '*' matches.
func (o *operand) isWithin(other *operand) bool {
	const wildcard = "\U0010fffe"
	if o.kind != other.kind || o.kind != ofGlob && o.kind != ofCommand {
		return false
	}
	if o.text == other.text {
		return true
	}
	if o.kind == ofCommand && o.command.open && !other.command.open {
		return false // the other does not see expansions
	}
	if strings.ContainsAny(o.text, `[]{}\,!`+wildcard) || strings.ContainsAny(other.text, `?[]{}\,!`) {
		return false
	}
	return other.glob.Match(strings.NewReplacer("*", wildcard, "?", wildcard).Replace(o.text))
}
