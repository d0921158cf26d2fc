package schema

import (
	"errors"
	"regexp/syntax"
	"strings"

	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxPatternBytes limits the regular expressions of a schema, and maxInstructions their
	// compiled size.
	maxPatternBytes = 16 << 10
	maxInstructions = 20_000
	// workPerStep is the number of instructions times bytes matched in one step.
	workPerStep = 64
)

// patterns compiles the regular expressions of one schema. Matching them counts steps.
type patterns struct {
	meter               *meter
	bySource            map[string]jsonschema.Regexp
	bytes, instructions int
}

// compile compiles a JavaScript regular expression. Look-arounds are valid in schemas but
// unsupported here, so such an expression matches every text.
func (p *patterns) compile(source string) (jsonschema.Regexp, error) {
	if known, ok := p.bySource[source]; ok {
		return known, nil
	}
	if p.meter.ctx != nil { // a value in the regex format
		p.meter.count(len(source))
		return compilePattern(source, p.meter)
	}
	p.bytes += len(source)
	switch {
	case p.bytes > maxPatternBytes:
		return nil, limitError("the regular expressions of the schema have more than %d bytes", maxPatternBytes)
	case p.instructions > maxInstructions:
		return nil, limitError("the regular expressions of the schema compile to more than %d instructions", maxInstructions)
	}
	compiled, err := compilePattern(source, p.meter)
	if err != nil {
		return nil, err
	}
	if m, ok := compiled.(*metered); ok {
		p.instructions += m.Size
	}
	p.bySource[source] = compiled
	return compiled, nil
}

func compilePattern(source string, m *meter) (jsonschema.Regexp, error) {
	compiled, err := pattern.CompileRegexp(source)
	if err == nil {
		return &metered{compiled, m}, nil
	}
	if wrong, ok := errors.AsType[*syntax.Error](err); ok && looksAround(wrong) {
		return unmatched(source), nil
	}
	return nil, err
}

// metered is a regular expression that counts the steps of matching.
type metered struct {
	*pattern.Regexp
	meter *meter
}

// MatchString reports whether the expression matches a part of the text.
func (m *metered) MatchString(text string) bool {
	m.meter.count(1 + len(text)/workPerStep*m.Size + len(text)%workPerStep*m.Size/workPerStep)
	return m.Regexp.MatchString(text)
}

// looksAround reports whether a regular expression was rejected because of a look-around. A
// lookbehind is parsed as a group with an invalid name.
func looksAround(wrong *syntax.Error) bool {
	return wrong.Code == syntax.ErrInvalidPerlOp || strings.HasPrefix(wrong.Expr, "(?<=") || strings.HasPrefix(wrong.Expr, "(?<!")
}

// unmatched is a regular expression that is never evaluated.
type unmatched string

// MatchString returns true.
func (unmatched) MatchString(string) bool { return true }

// String returns the expression.
func (u unmatched) String() string { return string(u) }
