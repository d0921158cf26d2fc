package schema

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// meter counts the steps of one validation at a time, and stops it.
type meter struct {
	ctx context.Context
	// left is the number of remaining steps, and price the number that each step counts for.
	left, price int
	// until is the number of remaining steps at the next check of the context.
	until int
	// checked is set after the first check, and long while the validation holds a place among the
	// long ones.
	checked, long bool
}

// stopped is the panic value with which a meter leaves the library.
type stopped struct{ err error }

// contextSteps is the number of steps between two checks of the context.
const contextSteps = 4096

// begin starts a validation with a number of steps.
func (m *meter) begin(ctx context.Context, steps, price int) {
	*m = meter{ctx: ctx, left: steps, price: price, until: steps}
}

// count counts steps. It panics with stopped after the last step, or if the context
// has ended.
func (m *meter) count(steps int) {
	if m.ctx == nil {
		return // the library compares the schema with its metaschema
	}
	if steps > math.MaxInt32 || steps*m.price > m.left {
		m.left = 0
		panic(stopped{errSteps})
	}
	if m.left -= steps * m.price; m.left <= m.until {
		if err := m.ctx.Err(); err != nil {
			panic(stopped{context.Cause(m.ctx)})
		}
		m.limitLong()
		m.until = m.left - contextSteps
	}
}

// longValidations has a place for each concurrent validation that may take more than contextSteps:
// half of the processors stay free for everything else.
var longValidations = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// limitLong waits for a place among the long validations at the second check. It panics
// with stopped if the context ends first, and lets other goroutines run at later checks.
func (m *meter) limitLong() {
	switch {
	case m.long:
		runtime.Gosched()
	case m.checked:
		select {
		case longValidations <- struct{}{}:
			m.long = true
		case <-m.ctx.Done():
			panic(stopped{context.Cause(m.ctx)})
		}
	}
	m.checked = true
}

// errSteps reports that a validation used up its steps.
var errSteps = limitError("comparing it with the schema takes too many steps; the schema or the value has to be simpler")

// run calls validate within the step limit, and returns why it was stopped.
func (m *meter) run(validate func()) (err error) {
	defer func() {
		if m.ctx = nil; m.long {
			m.long = false
			<-longValidations
		}
	}()
	defer panics.Handle(func(p *panics.Error) {
		s, ok := p.Value.(stopped)
		if !ok {
			panic(p.Value)
		}
		err = s.err
	})
	validate()
	return nil
}

// meterer adds step counting to the subschemas of a compiled schema, and measures how many of them
// one value is compared with.
type meterer struct {
	meter *meter
	// anchored are the subschemas with a $dynamicAnchor or $recursiveAnchor, to which references
	// are resolved during validation.
	anchored []*jsonschema.Schema
	costs    map[*jsonschema.Schema]*cost
}

// cost is the cost of comparing one value with a subschema.
type cost struct {
	// paths is the number of subschemas that the value is compared with, and chain the maximum
	// number from the first to the last. open is set while they are counted.
	paths, chain int
	open         bool
}

// collect records a subschema and all that are reachable from it.
func (m *meterer) collect(s *jsonschema.Schema) {
	todo := []*jsonschema.Schema{s}
	for len(todo) > 0 {
		s, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if s == nil || m.costs[s] != nil {
			continue
		}
		m.costs[s] = new(cost)
		if s.DynamicAnchor != "" || s.RecursiveAnchor {
			m.anchored = append(m.anchored, s)
		}
		todo = append(append(todo, sameValue(s)...), partsOfValue(s)...)
	}
}

// measure returns the cost of a subschema. It fails if the cost is too high, or if the subschema
// refers to itself for the same value.
func (m *meterer) measure(s *jsonschema.Schema) (*cost, error) {
	c := m.costs[s]
	switch {
	case c.open:
		return nil, limitError("the part at %s refers to itself for the same value", addressOf(s))
	case c.paths > 0:
		return c, nil
	}
	c.open = true
	paths, chain := 1, 0
	next := sameValue(s)
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		next = append(next, m.anchored...)
	}
	for _, sub := range next {
		if sub == nil {
			continue
		}
		of, err := m.measure(sub)
		if err != nil {
			return nil, err
		}
		paths, chain = paths+of.paths, max(chain, of.chain)
		if paths > maxPaths {
			return nil, limitError("the part at %s has more than %d alternatives for one value", addressOf(s), maxPaths)
		}
		if chain >= maxChain {
			return nil, limitError("the part at %s leads through more than %d others for one value", addressOf(s), maxChain)
		}
	}
	c.paths, c.chain, c.open = paths, chain+1, false
	return c, nil
}

// location is the name of a schema inside its compiler. It is never fetched. It is absolute,
// because the compiler takes a relative name for a file in the working directory and names that in
// its errors. root is the prefix of relative references after they are resolved against it.
const (
	root     = "schema:///"
	location = root + "schema.json"
)

// addressOf returns the address of a subschema as used by references in the schema.
func addressOf(s *jsonschema.Schema) string {
	return clipDigits(strings.TrimPrefix(s.Location, location))
}

// sameValue returns the subschemas that apply to the same value as a schema. Some may
// be nil.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat([]*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	for _, dependent := range s.DependentSchemas {
		list = append(list, dependent)
	}
	for _, dependency := range s.Dependencies {
		if dependent, ok := dependency.(*jsonschema.Schema); ok {
			list = append(list, dependent)
		}
	}
	return list
}

// partsOfValue returns the subschemas that apply to parts of a schema's value. Some may be nil.
func partsOfValue(s *jsonschema.Schema) []*jsonschema.Schema {
	list := append(perMember(s), perElement(s)...)
	list = append(append(list, s.PrefixItems...), s.ContentSchema)
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		list = append(list, items...)
	}
	for _, property := range s.Properties {
		list = append(list, property)
	}
	return list
}

// perMember returns the subschemas that may apply to every member of an object.
func perMember(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties}
	if others, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		list = append(list, others)
	}
	for _, property := range s.PatternProperties {
		list = append(list, property)
	}
	return list
}

// perElement returns the subschemas that may apply to every element of a list.
func perElement(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Contains, s.Items2020, s.UnevaluatedItems}
	if items, ok := s.Items.(*jsonschema.Schema); ok {
		list = append(list, items)
	}
	if others, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		list = append(list, others)
	}
	return list
}

// charge is the number of steps for comparing a value with a subschema, excluding those counted by
// its own subschemas.
type charge struct {
	once, member, element int
	// properties holds the steps of properties that are compared with listed values.
	properties map[string]int
}

// chargeOf returns the charge of a subschema.
func chargeOf(s *jsonschema.Schema) *charge {
	const namesPerStep = 8
	c := &charge{once: 1 + entrySteps(sameValue(s)...), member: 1 + entrySteps(perMember(s)...), element: 1 + entrySteps(perElement(s)...)}
	names := len(s.Required)
	for _, required := range s.DependentRequired {
		names += 1 + len(required)
	}
	for _, dependency := range s.Dependencies {
		required, _ := dependency.([]string)
		names += 1 + len(required)
	}
	c.once += names / namesPerStep
	for name, property := range s.Properties {
		if steps := entrySteps(property); steps > 1 {
			if c.properties == nil {
				c.properties = make(map[string]int)
			}
			c.properties[name] = steps
		}
	}
	c.once += listedSteps(s.PrefixItems...)
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		c.once += listedSteps(items...)
	}
	return c
}

// of returns the steps for a value; unique is set if its elements are compared with each
// other.
func (c *charge) of(v any, unique bool) int {
	steps := c.once
	switch v := v.(type) {
	case string:
		steps += len(v) / bytesPerStep
	case map[string]any:
		steps += c.member * len(v)
		if len(c.properties) > 0 {
			for name := range v {
				steps += c.properties[name]
			}
		}
	case []any:
		steps += c.element * len(v)
		if unique {
			steps += compareSteps(v)
		}
	}
	return steps
}

// addMeter makes a subschema count its steps before anything else applies to a value of
// one of its types. The library calls a format first.
func (m *meterer) addMeter(s *jsonschema.Schema) {
	if s.Bool != nil {
		return
	}
	c, unique := chargeOf(s), s.UniqueItems
	format := new(jsonschema.Format)
	if s.Format != nil {
		*format = *s.Format
	}
	validate := format.Validate
	format.Validate = func(v any) error {
		m.meter.count(c.of(v, unique))
		if validate == nil {
			return nil
		}
		return validate(v)
	}
	s.Format = format
}

const (
	// bytesPerStep is the number of bytes of a text examined in one step, and valuesPerStep the
	// number of listed values compared in one step.
	bytesPerStep  = 64
	valuesPerStep = 16
	// shortList is the longest list whose elements are compared pairwise for uniqueness; longer
	// lists use a table.
	shortList = 20
)

// compareSteps returns the steps of comparing the elements of a list with each other.
func compareSteps(list []any) int {
	steps := sizeOf(list) / valuesPerStep
	if len(list) <= shortList {
		steps *= len(list)
	}
	return steps
}

// entrySteps returns the steps needed for a value before the subschemas count their own.
func entrySteps(list ...*jsonschema.Schema) int {
	n := listedSteps(list...)
	for _, s := range list {
		if s != nil {
			n++
		}
	}
	return n
}

// listedSteps returns the steps for comparing a value with the listed ones.
func listedSteps(list ...*jsonschema.Schema) int {
	n := 0
	for _, s := range list {
		if s != nil && s.Const != nil {
			n += sizeOf(*s.Const) / valuesPerStep
		}
		if s != nil && s.Enum != nil {
			n += sizeOf(s.Enum.Values) / valuesPerStep
		}
	}
	return n
}

// sizeOf returns the size of a value: the cost of comparing it with another.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case json.Number:
		n += valuesPerStep // the library compares numbers as fractions
	case string:
		n += len(v) / bytesPerStep
	case []any:
		for _, element := range v {
			n += sizeOf(element)
		}
	case map[string]any:
		for name, element := range v {
			n += len(name)/bytesPerStep + sizeOf(element)
		}
	}
	return n
}
