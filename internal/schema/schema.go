// Package schema compiles JSON Schemas and explains in plain words where a value violates one. A
// schema is compiled once per revision; validating with it is safe for concurrent use.
package schema

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// DurationPattern matches non-negative durations in Go's syntax, such as 500ms or 1m30s. JSON
// Schema's format "duration" is the ISO 8601 syntax instead. The pattern needs no escaping in
// JSON.
const DurationPattern = `^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// Schema is a compiled JSON Schema.
type Schema struct {
	doc  any
	size *measure
	// plain accepts most values immediately; nil if the schema has no plain form. A schema with one
	// is compiled only when a value does not fit it.
	plain *plain
	// spare is the compiled schema unless it is in use, and more holds others: each validates one
	// value at a time.
	spare atomic.Pointer[compiled]
	more  sync.Pool
}

// Compile compiles a schema of any published draft, 2020-12 by default. It rejects references to
// other documents. It returns a *LimitError if the schema is too large or would be too slow.
func Compile(raw json.RawMessage) (*Schema, error) {
	doc, size, err := decodeSchema(raw)
	if err != nil {
		return nil, err
	}
	s := &Schema{doc: doc, size: size, plain: newPlain(doc)}
	if s.plain != nil {
		return s, nil
	}
	c, err := s.acquire()
	if err != nil {
		return nil, err
	}
	s.release(c)
	return s, nil
}

// acquire returns a compiled schema for one validation. The caller releases it.
func (s *Schema) acquire() (*compiled, error) {
	if c := s.spare.Swap(nil); c != nil {
		return c, nil
	}
	if c, ok := s.more.Get().(*compiled); ok {
		return c, nil
	}
	return compileDocument(s.doc, s.size)
}

func (s *Schema) release(c *compiled) {
	if !s.spare.CompareAndSwap(nil, c) {
		s.more.Put(c)
	}
}

// Violation is one way in which a value does not fit a schema.
type Violation struct {
	// Path is the path in the value: keys, and list positions as decimal numbers. It is empty for
	// the value itself.
	Path []string
	// Message describes the violation.
	Message string
	// Near is the known key or value that an unknown one probably means, or empty.
	Near string
	// Key is set if the key at the path is wrong, not its value.
	Key bool
}

// Error returns the path and the message.
func (v Violation) Error() string {
	if len(v.Path) == 0 {
		return v.Message
	}
	return strings.Join(v.Path, ".") + ": " + v.Message
}

// ValidateJSON validates a JSON text. It fails if the text is not JSON or the context ends, and
// with a *LimitError if validation takes too many steps.
func (s *Schema) ValidateJSON(ctx context.Context, raw []byte) ([]Violation, error) {
	steps := baseSteps + stepsPerByte*len(raw)
	if s.plain != nil && s.plain.accepts(raw, steps) {
		return nil, nil
	}
	value, size, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	c, err := s.acquire()
	if err != nil {
		return []Violation{{Message: err.Error()}}, nil
	}
	violation, err := c.validate(ctx, value, size, steps)
	s.release(c)
	if violation == nil || err != nil {
		return nil, err
	}
	if v, ok := errors.AsType[*jsonschema.ValidationError](violation); ok {
		return s.listViolations(v), nil
	}
	return []Violation{{Message: violation.Error()}}, nil
}

// listViolations lists the first leaves of an error, sorted by path, because the library finds them
// in map order. If a value must fit one of several schemas, the leaves would contradict each other,
// so the choice is one violation.
func (s *Schema) listViolations(err *jsonschema.ValidationError) []Violation {
	e := explainer{schema: s, left: maxDescribed}
	leaves := sortLeaves(addLeaves(nil, err))
	out := make([]Violation, 0, min(len(leaves), maxViolations))
	for _, l := range leaves[:cap(out)] {
		out = append(out, e.describe(l))
	}
	return out
}

// leaf is one undescribed violation.
type leaf struct {
	path []string
	err  *jsonschema.ValidationError
	// name is the unknown or missing key.
	name string
}

// addLeaves appends the leaves of an error.
func addLeaves(list []leaf, err *jsonschema.ValidationError) []leaf {
	path := err.InstanceLocation
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return append(list, leaf{path: path, err: err})
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			list = append(list, leaf{append(path[:len(path):len(path)], name), err, name})
		}
		return list
	case *kind.Required:
		for _, name := range k.Missing {
			list = append(list, leaf{path, err, name})
		}
		return list
	}
	if len(err.Causes) == 0 {
		return append(list, leaf{path: path, err: err})
	}
	for _, cause := range err.Causes {
		list = addLeaves(list, cause)
	}
	return list
}

func sortLeaves(list []leaf) []leaf {
	slices.SortStableFunc(list, func(a, b leaf) int { return slices.CompareFunc(a.path, b.path, compareSegments) })
	return list
}

// explainer describes violations. left is the number it may still describe.
type explainer struct {
	schema *Schema
	left   int
}

func (e *explainer) describe(l leaf) Violation {
	e.left--
	v := Violation{Path: l.path}
	switch k := l.err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		v.Message = e.describeForms(l.err)
	case *kind.AdditionalProperties:
		v.Key, v.Message = true, fmt.Sprintf("%q is not a known key", l.name)
		v.Near, _ = nearest.Of(l.name, e.schema.knownKeys(l.err.SchemaURL))
	case *kind.Required:
		v.Message = fmt.Sprintf("%q is required", l.name)
	case *kind.Enum:
		v.Message, v.Near = describeKind(k), nearestOf(k.Got, k.Want)
	default:
		v.Message = describeKind(k)
	}
	v.Message = clip.At(maxMessage, v.Message)
	return v
}

// describeForms describes why a value fits none of several schemas, or too many.
func (e *explainer) describeForms(err *jsonschema.ValidationError) string {
	if k, ok := err.ErrorKind.(*kind.OneOf); ok && len(k.Subschemas) > 0 {
		return "it fits more than one of the allowed forms"
	}
	var reasons []string
	for _, cause := range err.Causes {
		for _, l := range sortLeaves(addLeaves(nil, cause)) {
			if e.left <= 0 || len(reasons) == maxReasons {
				reasons = append(reasons, "…")
				return describeReasons(reasons)
			}
			reasons = append(reasons, e.describe(l).Message)
		}
	}
	return describeReasons(reasons)
}

func describeReasons(reasons []string) string {
	return "it fits none of the allowed forms: " + strings.Join(reasons, "; or ")
}

// nearestOf returns the allowed text that a wrong one probably means.
func nearestOf(got any, allowed []any) string {
	text, ok := got.(string)
	if !ok {
		return ""
	}
	var texts []string
	for _, a := range allowed {
		if s, ok := a.(string); ok {
			texts = append(texts, s)
		}
	}
	near, _ := nearest.Of(text, texts)
	return near
}

// compareSegments compares list positions by their value, and keys by their
// text.
func compareSegments(a, b string) int {
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return cmp.Compare(i, j)
	}
	return strings.Compare(a, b)
}

// knownKeys returns the known keys of the part of the schema at a location, sorted; none if the
// location is outside the schema.
func (s *Schema) knownKeys(at string) []string {
	u, err := url.Parse(at)
	if err != nil {
		return nil
	}
	part := s.doc
	for token := range strings.SplitSeq(u.Fragment, "/") {
		switch p := part.(type) {
		case map[string]any:
			if token != "" {
				part = p[unescape.Replace(token)]
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(p) {
				return nil
			}
			part = p[i]
		}
	}
	object, _ := part.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// unescape decodes a token of a JSON Pointer.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

var english = message.NewPrinter(language.English)

func describeKind(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("it is %s, but must be %s", indefiniteArticle(k.Got), indefiniteArticle(strings.Join(k.Want, " or ")))
	case *kind.Enum:
		return "it must be one of " + listValues(k.Want)
	case *kind.Const:
		return "it must be " + listValues([]any{k.Want})
	case *kind.Pattern:
		if k.Want == DurationPattern {
			return "it must be a duration such as 500ms or 2s"
		}
		return fmt.Sprintf("it does not match the pattern %s", k.Want)
	case *kind.Format:
		got, _ := k.Got.(string)
		return fmt.Sprintf("%q is not a valid %s: %v", clip.Text(got), k.Want, k.Err)
	case *kind.MinLength:
		return fmt.Sprintf("it has %d characters, but must have %d or more", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("it has %d characters, but must have %d or less", k.Got, k.Want)
	case *kind.Minimum:
		return describeBound(k.Got, "%s or more", k.Want)
	case *kind.Maximum:
		return describeBound(k.Got, "%s or less", k.Want)
	case *kind.ExclusiveMinimum:
		return describeBound(k.Got, "more than %s", k.Want)
	case *kind.ExclusiveMaximum:
		return describeBound(k.Got, "less than %s", k.Want)
	case *kind.MultipleOf:
		return describeBound(k.Got, "a multiple of %s", k.Want)
	default:
		return k.LocalizedString(english)
	}
}

// describeBound names the limit that a number violates. Numbers are written in full, because the
// library would round them.
func describeBound(got *big.Rat, limit string, want *big.Rat) string {
	return fmt.Sprintf("it is %s, but must be "+limit, formatNumber(got), formatNumber(want))
}

func formatNumber(r *big.Rat) string {
	if r.IsInt() {
		return clipDigits(r.Num().String())
	}
	digits, exact := r.FloatPrec()
	if !exact {
		return clipDigits(r.RatString())
	}
	return clipDigits(r.FloatString(digits))
}

func indefiniteArticle(typ string) string {
	switch {
	case typ == "null":
		return typ
	case strings.IndexByte("aeiou", typ[0]) >= 0:
		return "an " + typ
	default:
		return "a " + typ
	}
}

// listValues lists values until the text is long enough.
func listValues(values []any) string {
	var out strings.Builder
	for i, v := range values {
		if i > 0 {
			out.WriteString(", ")
		}
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		if out.Write(text); out.Len() > maxMessage {
			break
		}
	}
	return out.String()
}
