package permission

import (
	"fmt"
	"slices"
)

// operator is how a condition compares.
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

// operators are those that are signs; "in" is a word.
var operators = []operator{same, notEqual, greater, atLeast, less, atMost, like, notLike, equal, matches, notMatches}

// negative reports whether the operator holds for what does not fit.
func (o operator) negative() bool { return o[0] == '!' }

// ordered reports whether the operator compares by size.
func (o operator) ordered() bool { return o[0] == '>' || o[0] == '<' }

// precision says how narrow the operator is; what it excludes is wider than
// what it names.
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

// condition compares what a path in the arguments leads to.
type condition struct {
	path  path
	op    operator
	value operand
}

// holds reports whether a rule counts the condition as true for the arguments
// of a call. A cautious rule, which denies or asks, does when it is true, or
// cannot be decided, for one of the values that the path leads to; one that
// allows does when it is true for all of them.
//
// With the operators ~, = and =~ and a text, one value is enough for a rule that
// allows, too.
func (c *condition) holds(object any, cautious bool) bool {
	found, all, some := false, true, false
	c.path.walk(object, func(v any, there bool) bool {
		t := c.judge(v, there)
		found = true
		some = some || t.enough(cautious)
		all = all && t.enough(cautious)
		return true
	})
	if cautious || c.anyOne() {
		return some
	}
	return found && all
}

// anyOne reports whether a rule that allows needs one value only that fits.
func (c *condition) anyOne() bool {
	return slices.Contains([]operator{like, equal, matches}, c.op) && slices.Contains([]operandKind{ofText, ofGlob, ofRegex}, c.value.kind)
}

// judge compares one value. What is not there cannot be compared.
func (c *condition) judge(v any, there bool) truth {
	if !there {
		return unknown
	}
	t := c.compareValue(v)
	if c.op.negative() {
		if c.value.kind == ofGlob || c.value.kind == ofRegex {
			if _, text := v.(string); !text && t == no {
				return unknown // not to fit a pattern says little of what is no text
			}
		}
		return t.not()
	}
	return t
}

func (c *condition) compareValue(v any) truth {
	switch {
	case c.op.ordered():
		return c.value.orders(c.op, v)
	case c.op == among:
		return c.value.contains(v)
	case c.op == same, c.value.kind == ofNumber, c.value.kind == ofBoolean, c.value.kind == ofNull:
		return c.value.equals(v)
	case c.value.kind == ofText:
		return c.value.resembles(v)
	default:
		return c.value.matches(v)
	}
}

// String returns the condition as a rule has it.
func (c *condition) String() string { return fmt.Sprintf("%s %s %s", c.path, c.op, &c.value) }
