package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxRegexp limits a regular expression, in bytes, and maxInstructions its compiled program:
	// x{1000} has a thousand instructions.
	maxRegexp       = 4096
	maxInstructions = 10_000
	// maxWork limits a match: the program's instructions times the bytes of the text.
	maxWork = 1 << 25
)

// Regexp is a regular expression in RE2 syntax. Compiling and matching it are bounded. It is safe
// for concurrent use.
type Regexp struct {
	*regexp.Regexp
	// Size is the maximum number of instructions of its program.
	Size int
}

// CompileRegexp compiles a regular expression. It fails if the expression is invalid or
// too large.
func CompileRegexp(source string) (*Regexp, error) {
	if len(source) > maxRegexp {
		return nil, fmt.Errorf("the regular expression has %d bytes; at most %d are allowed", len(source), maxRegexp)
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := countInstructions(parsed)
	if size > maxInstructions {
		return nil, fmt.Errorf("the regular expression compiles to about %d instructions; at most %d are allowed", size, maxInstructions)
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return &Regexp{compiled, size}, nil
}

// Longest returns the maximum number of bytes of a text that can be matched.
func (r *Regexp) Longest() int { return maxWork / max(r.Size, 1) }

// countInstructions returns the maximum number of instructions in an expression's program.
// Repetitions are expanded.
func countInstructions(re *syntax.Regexp) int {
	n := 2
	if re.Op == syntax.OpLiteral {
		n += len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += countInstructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
