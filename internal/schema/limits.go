package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The limits of a schema. They limit the time and memory for compiling it.
const (
	// maxBytes limits a schema as JSON.
	maxBytes = 512 << 10
	// maxParts limits its objects and booleans, each of which may be a subschema.
	maxParts = 5000
	// maxNesting limits the nesting depth of its values.
	maxNesting = 128
	// maxAddresses limits the total length of the JSON Pointers of its parts.
	maxAddresses = 4 << 20
	// maxReferences limits its references and identifiers: each is looked up among the others.
	maxReferences = 1000
	// maxPaths limits the subschemas that one value may have to be compared with.
	maxPaths = 10_000
	// maxChain limits the subschemas that apply to one value because of each other.
	maxChain = 128
)

// The limits of a validation.
const (
	// baseSteps and stepsPerByte determine the maximum number of validation steps from the size of
	// the value as JSON.
	baseSteps    = 100_000
	stepsPerByte = 8
	// explainSteps is the maximum number of steps for listing violations.
	explainSteps = 20_000
	// maxDepth limits the nesting depth of a value.
	maxDepth = 512
	// maxViolations, maxReasons and maxMessage limit the list of violations, the reasons in each
	// and its length in bytes. maxDescribed limits all of them.
	maxViolations = 100
	maxDescribed  = 200
	maxReasons    = 20
	maxMessage    = 2000
)

// LimitError reports that a schema, or validating with it, exceeds a limit.
type LimitError struct{ Reason string }

// Error returns the reason.
func (e *LimitError) Error() string { return e.Reason }

func limitError(format string, args ...any) error {
	return &LimitError{Reason: fmt.Sprintf(format, args...)}
}

// measure is the size of a decoded JSON value.
type measure struct {
	parts, addresses, references int
	// depth is the nesting depth of values, and digits the number of digits of the longest number
	// when written without an exponent.
	depth, digits int
}

// add measures a value at a depth, with a JSON Pointer of the given length.
func (m *measure) add(v any, depth, pointer int) error {
	if m.depth = max(m.depth, depth); depth > maxDepth {
		return limitError("it is nested more than %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case json.Number:
		return m.addNumber(string(v))
	case bool:
		m.parts++
	case []any:
		for i, element := range v {
			if err := m.add(element, depth+1, pointer+1+len(strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case map[string]any:
		m.parts++
		m.addresses += pointer
		for name, element := range v {
			switch name {
			case "$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "$anchor", "$dynamicAnchor":
				if _, ok := element.(string); ok {
					m.references++
				}
			}
			if err := m.add(element, depth+1, pointer+1+len(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxExponent limits the exponent of a number, and maxDigits the number itself. Computing with
// larger ones is slow, and the library panics for some.
const (
	maxExponent = 1000
	maxDigits   = 1100
)

func (m *measure) addNumber(text string) error {
	digits, exponent := len(text), 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil {
			exponent = maxExponent + 1
		}
		digits = i
	}
	if exponent = max(exponent, -exponent); exponent > maxExponent || digits > maxDigits {
		return fmt.Errorf("the number %s is out of range", clipDigits(text))
	}
	m.digits = max(m.digits, digits+exponent)
	return nil
}

// price is the number of steps that each step with a value counts for, because the work grows with
// the depth of values and the length of numbers.
func (m *measure) price() int {
	const (
		levels = 8
		digits = 32
	)
	return 1 + m.depth/levels + m.digits/digits
}

// checkSize rejects a schema that would be slow to compile.
func (m *measure) checkSize() error {
	switch {
	case m.parts > maxParts:
		return limitError("it has %d objects and booleans; at most %d are allowed", m.parts, maxParts)
	case m.depth > maxNesting:
		return limitError("it is nested %d levels deep; at most %d are allowed", m.depth, maxNesting)
	case m.addresses > maxAddresses:
		return limitError("the JSON Pointers of its parts have %d bytes; at most %d are allowed", m.addresses, maxAddresses)
	case m.references > maxReferences:
		return limitError("it has %d references and identifiers; at most %d are allowed", m.references, maxReferences)
	default:
		return nil
	}
}

// clipDigits shortens a number that is too long to read.
func clipDigits(digits string) string {
	const limit = 40
	if len(digits) <= limit {
		return digits
	}
	return digits[:limit] + "…"
}
