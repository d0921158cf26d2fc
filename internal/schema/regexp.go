package schema

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compilePattern compiles a regular expression of a schema. Schemas come with those
// of JavaScript: a look-around is valid there, but cannot be
// matched here, so that every text is taken to match it.
func compilePattern(source string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(source)
	if err == nil {
		return compiled, nil
	}
	if wrong, ok := errors.AsType[*syntax.Error](err); ok && looksAround(wrong) {
		return unmatched(source), nil
	}
	return nil, err
}

// looksAround reports whether a regular expression is refused because of a
// look-around. A lookbehind is parsed as a group with an invalid name.
func looksAround(wrong *syntax.Error) bool {
	return wrong.Code == syntax.ErrInvalidPerlOp || strings.HasPrefix(wrong.Expr, "(?<=") || strings.HasPrefix(wrong.Expr, "(?<!")
}

// unmatched is a regular expression that is not looked at.
type unmatched string

// MatchString returns true.
func (unmatched) MatchString(string) bool { return true }

// String returns the expression.
func (u unmatched) String() string { return string(u) }
