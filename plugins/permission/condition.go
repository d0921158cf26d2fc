package permission

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// operator is how a condition compares.
type operator string

const (
	like       operator = "~"
	equal      operator = "="
	matches    operator = "=~"
	notLike    operator = "!~"
	notEqual   operator = "!="
	notMatches operator = "!=~"
)

// operators are all operators, those that begin with another one first.
var operators = []operator{notMatches, notLike, notEqual, matches, equal, like}

// negative reports whether the operator holds for what does not fit.
func (o operator) negative() bool { return o[0] == '!' }

// precision says how narrow the operator is; what it excludes is wider than
// what it names.
func (o operator) precision() int {
	switch o {
	case equal:
		return 6
	case like:
		return 5
	case matches:
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
	value string
	glob  pattern.Pattern
	regex *regexp.Regexp
}

// newCondition compiles a condition.
func newCondition(at path, op operator, value string) (c condition, err error) {
	c = condition{path: at, op: op, value: value}
	switch op {
	case like, notLike:
		if c.glob, err = pattern.Compile(value); err != nil {
			return condition{}, err
		}
	case matches, notMatches:
		if c.regex, err = compileRegex(value); err != nil {
			return condition{}, err
		}
	}
	return c, nil
}

// maxRegex bounds a regular expression, in bytes, so that matching stays cheap.
const maxRegex = 1024

func compileRegex(source string) (*regexp.Regexp, error) {
	switch {
	case source == "":
		return nil, fmt.Errorf("the regular expression is empty")
	case len(source) > maxRegex:
		return nil, fmt.Errorf("the regular expression has %d bytes; at most %d are allowed", len(source), maxRegex)
	}
	regex, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("the regular expression is invalid: %w", err)
	}
	return regex, nil
}

// holds reports whether the condition is true for the arguments of a call. When
// the path leads to nothing, it is not.
func (c *condition) holds(object any) bool {
	found, fits := false, false
	c.path.walk(object, func(v any) bool {
		found = true
		fits = c.fits(textOf(v))
		return !fits // one that fits decides, whatever the operator
	})
	return found && fits != c.op.negative()
}

func (c *condition) fits(text string) bool {
	switch c.op {
	case like, notLike:
		return c.glob.Match(text)
	case matches, notMatches:
		return c.regex.MatchString(text)
	default:
		return c.value == text
	}
}

// String returns the condition as a rule has it.
func (c *condition) String() string {
	return fmt.Sprintf(`%s %s "%s"`, c.path, c.op, quoter.Replace(c.value))
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
