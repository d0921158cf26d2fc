// Package schema compiles JSON Schemas and says in plain words where a value
// violates one. A schema is compiled once per revision; validating with it is
// safe from many goroutines.
package schema

import (
	"bytes"
	"cmp"
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

	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// location is the name a schema has inside its compiler. It is never fetched. It is
// absolute, because the compiler takes a relative name for a file in the working
// directory and names that in its errors. root is what relative references begin
// with once they are resolved against it.
const (
	root     = "schema:///"
	location = root + "schema.json"
)

// DurationPattern matches time spans as Go writes them, those that are not
// negative: 500ms, 1m30s. The format "duration" of JSON Schema is another
// spelling, that of ISO 8601. The pattern needs no escaping in JSON.
const DurationPattern = `^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// Schema is a compiled JSON Schema.
type Schema struct {
	doc any
	// plain accepts most values at once; nil if the schema has no plain form.
	plain *plain
	// compile returns what the library makes of the schema. A schema with a plain
	// form is compiled when a value does not fit that.
	compile func() (*jsonschema.Schema, error)
}

// Compile compiles a schema of any published draft, 2020-12 when it names
// none. References to other documents are refused: a schema stands by itself.
func Compile(raw json.RawMessage) (*Schema, error) {
	doc, err := decodeValue(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, errors.New("it must be an object or a boolean")
	}
	s := &Schema{doc: doc, plain: newPlain(doc), compile: sync.OnceValues(func() (*jsonschema.Schema, error) { return compileDocument(doc) })}
	if s.plain == nil {
		if _, err := s.compile(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// compileDocument has the library compile a decoded schema.
func compileDocument(doc any) (compiled *jsonschema.Schema, err error) {
	defer panics.Handle(func(p *panics.Error) {
		compiled, err = nil, fmt.Errorf("it cannot be compiled: %v", p.Value)
	})
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(location, doc); err != nil {
		return nil, plainError(err)
	}
	compiled, err = c.Compile(location)
	if err != nil {
		return nil, plainError(err)
	}
	return compiled, nil
}

// refuse is a loader that loads nothing: a configuration must not make the
// runtime read files or addresses.
type refuse struct{}

// Load refuses every address.
func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: schemas cannot refer to other documents", url)
}

// plainError turns a compiler's error into words that speak of the schema, not of
// the library's addresses.
func plainError(err error) error {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			if found := new(Schema).listViolations(v); len(found) > 0 {
				return found[0]
			}
		}
		return invalid.Err
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		err = load.Err
	}
	return errors.New(strings.ReplaceAll(strings.ReplaceAll(err.Error(), location, ""), root, ""))
}

// Violation is one way in which a value does not fit a schema.
type Violation struct {
	// Path leads to the place in the value: keys, and list positions as
	// decimal numbers. It is empty for the value itself.
	Path []string
	// Message describes the violation.
	Message string
	// Near is the known key or value that an unknown one probably means, or
	// empty.
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

// ValidateJSON validates a JSON text. It fails if the text is not JSON.
func (s *Schema) ValidateJSON(raw []byte) ([]Violation, error) {
	if s.plain != nil && s.plain.accepts(raw) {
		return nil, nil
	}
	v, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	return s.validateValue(v), nil
}

func (s *Schema) validateValue(value any) []Violation {
	compiled, err := s.compile()
	if err == nil {
		err = compiled.Validate(value)
	}
	if err == nil {
		return nil
	}
	if v, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return s.listViolations(v)
	}
	return []Violation{{Message: err.Error()}}
}

// decodeValue reads exactly one JSON value, keeping numbers as they are written.
func decodeValue(raw []byte) (any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return v, checkNumbers(v)
}

// maxExponent bounds the exponent of a number. Computing with greater ones takes
// long, and the library panics at some.
const maxExponent = 1000

// checkNumbers returns an error when a number of the value is out of range.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		if i := strings.IndexAny(string(v), "eE"); i >= 0 {
			if exponent, err := strconv.Atoi(string(v[i+1:])); err != nil || max(exponent, -exponent) > maxExponent {
				return fmt.Errorf("the number %s is out of range", clipDigits(string(v)))
			}
		}
	case []any:
		for _, element := range v {
			if err := checkNumbers(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, element := range v {
			if err := checkNumbers(element); err != nil {
				return err
			}
		}
	}
	return nil
}

// listViolations lists the leaves of an error, sorted by their paths: the library
// finds them in the order of a map. Where a value must fit one of several
// schemas the leaves would contradict each other, so the choice is one
// violation.
func (s *Schema) listViolations(err *jsonschema.ValidationError) []Violation {
	path := err.InstanceLocation
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return []Violation{{Path: path, Message: s.oneOf(err)}}
	case *kind.AdditionalProperties:
		out := make([]Violation, 0, len(k.Properties))
		known := s.knownKeys(err.SchemaURL)
		for _, name := range slices.Sorted(slices.Values(k.Properties)) {
			near, _ := nearest.Of(name, known)
			out = append(out, Violation{
				Path: append(path[:len(path):len(path)], name), Message: fmt.Sprintf("%q is not a known key", name), Near: near, Key: true,
			})
		}
		return out
	case *kind.Required:
		out := make([]Violation, 0, len(k.Missing))
		for _, name := range k.Missing {
			out = append(out, Violation{Path: path, Message: fmt.Sprintf("%q is missing", name)})
		}
		return out
	case *kind.Enum:
		return []Violation{{Path: path, Message: describeKind(k), Near: nearestOf(k.Got, k.Want)}}
	}
	if len(err.Causes) == 0 {
		return []Violation{{Path: path, Message: describeKind(err.ErrorKind)}}
	}
	var out []Violation
	for _, cause := range err.Causes {
		out = append(out, s.listViolations(cause)...)
	}
	slices.SortStableFunc(out, func(a, b Violation) int { return slices.CompareFunc(a.Path, b.Path, compareSegments) })
	return out
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

// knownKeys returns the known keys of the part of the schema at a location, sorted;
// none when it lies elsewhere.
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

// unescape turns a token of a JSON Pointer into the key that it stands for.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func (s *Schema) oneOf(err *jsonschema.ValidationError) string {
	if k, ok := err.ErrorKind.(*kind.OneOf); ok && len(k.Subschemas) > 0 {
		return "it fits more than one of the allowed forms"
	}
	var reasons []string
	for _, cause := range err.Causes {
		for _, v := range s.listViolations(cause) {
			reasons = append(reasons, v.Message)
		}
	}
	return "it fits none of the allowed forms: " + strings.Join(reasons, "; or ")
}

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

// describeBound names the limit that a number violates. Numbers are written in full:
// the library would round them.
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

// clipDigits shortens a number that nobody would read to its end.
func clipDigits(digits string) string {
	const limit = 40
	if len(digits) <= limit {
		return digits
	}
	return digits[:limit] + "…"
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

func listValues(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		texts[i] = string(text)
	}
	return strings.Join(texts, ", ")
}
