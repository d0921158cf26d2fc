package permission

import (
	"fmt"
	"slices"
)

// operator is the operator of a condition.
type operator string

const (
	like       operator = "~"
	equal      operator = "="
	same       operator = "=="
	matches    operator = "=~"
	notLike    operator = "!~"
	notEqual   operator = "!="
	notMatches operator = "!=~"
	greater    operator = ">"
	atLeast    operator = ">="
	less       operator = "<"
	atMost     operator = "<="
	among      operator = "in"
)

// operators are the symbolic operators; "in" is a word.
var operators = []operator{same, notEqual, greater, atLeast, less, atMost, like, notLike, equal, matches, notMatches}

// isNegated reports whether the operator holds for values that do not match.
func (o operator) isNegated() bool { return o[0] == '!' }

// comparesOrder reports whether the operator compares by size.
func (o operator) comparesOrder() bool { return o[0] == '>' || o[0] == '<' }

// precision ranks how narrow the operator is; an operator that excludes values is wider than one
// that names them.
func (o operator) precision() int {
	switch o {
	case equal, same:
		return 6
	case like, among:
		return 5
	case matches, greater, atLeast, less, atMost:
		return 4
	case notEqual:
		return 3
	case notLike:
		return 2
	default:
		return 1
	}
}

// condition compares the values at a path in the arguments.
type condition struct {
	path  path
	op    operator
	value operand
}

// isMet reports whether the condition counts as true for a call. For a cautious rule, which denies
// or asks, one value that satisfies it or is undecidable is enough; for a rule that allows, all
// values must satisfy it.
//
// With the operators ~, = and =~ and a text, one value is enough for a rule that allows, too.
func (c *condition) isMet(args *arguments, cautious bool) bool {
	found, all, some := false, true, false
	c.path.visitValues(args.object, func(v any, there bool) bool {
		t := c.compareArgument(args, v, there)
		found = true
		some = some || t.countsAsTrue(cautious)
		all = all && t.countsAsTrue(cautious)
		return args.spend(0)
	})
	if cautious || c.anyOne() {
		return some
	}
	return found && all
}

// anyOne reports whether one matching value is enough for a rule that allows.
func (c *condition) anyOne() bool {
	return slices.Contains([]operator{like, equal, matches}, c.op) && slices.Contains([]operandKind{ofText, ofGlob, ofRegex}, c.value.kind)
}

// compareArgument compares one value. A missing value cannot be compared.
func (c *condition) compareArgument(args *arguments, v any, there bool) truth {
	if !there || !args.spendOn(&c.value, v) {
		return unknown
	}
	t := c.compareValue(args, v)
	if c.op.isNegated() {
		if c.value.kind == ofGlob || c.value.kind == ofRegex {
			if _, text := v.(string); !text && t == no {
				return unknown // a mismatch says little about a non-string
			}
		}
		return t.not()
	}
	return t
}

func (c *condition) compareValue(args *arguments, v any) truth {
	switch {
	case c.op.comparesOrder():
		return c.value.compareNumber(c.op, v)
	case c.op == among:
		return c.value.listContains(v)
	case c.op == same, c.value.kind == ofNumber, c.value.kind == ofBoolean, c.value.kind == ofNull:
		return c.value.equalsValue(v)
	case c.value.kind == ofText:
		return c.value.equalsText(v)
	default:
		return args.matchOperand(&c.value, v)
	}
}

// String returns the condition in rule syntax.
func (c *condition) String() string { return fmt.Sprintf("%s %s %s", c.path, c.op, &c.value) }
