package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inverse is the URL of a schema that negates the original.
const inverse = root + "inverse.json"

// compiled is a schema compiled by the library. It validates one value at a time.
type compiled struct {
	schema *jsonschema.Schema
	// inverse accepts the values that the schema rejects. Validating with it collects no errors.
	inverse *jsonschema.Schema
	meter   *meter
	digits  int
}

// compileDocument compiles a decoded schema with the library.
func compileDocument(doc any, size *measure) (c *compiled, err error) {
	defer panics.Handle(func(p *panics.Error) {
		c, err = nil, fmt.Errorf("it cannot be compiled: %v", p.Value)
	})
	c = &compiled{meter: new(meter), digits: size.digits}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refuse{})
	compiler.UseRegexpEngine((&patterns{meter: c.meter, bySource: make(map[string]jsonschema.Regexp)}).compile)
	if err := compiler.AddResource(location, doc); err != nil {
		return nil, plainError(err)
	}
	if err := compiler.AddResource(inverse, map[string]any{"not": map[string]any{"$ref": location}}); err != nil {
		return nil, plainError(err)
	}
	if c.schema, err = compiler.Compile(location); err != nil {
		return nil, plainError(err)
	}
	if err := c.addMeters(); err != nil {
		return nil, err
	}
	c.inverse, err = compiler.Compile(inverse)
	return c, err
}

// addMeters makes the subschemas count steps. It fails if one value may have to be
// compared with too many of them.
func (c *compiled) addMeters() error {
	m := meterer{meter: c.meter, costs: make(map[*jsonschema.Schema]*cost)}
	m.collect(c.schema)
	if _, err := m.measure(c.schema); err != nil {
		return err
	}
	for s := range m.costs {
		if _, err := m.measure(s); err != nil {
			return err
		}
		m.addMeter(s)
	}
	return nil
}

// validate returns the library's error as violation if a value violates the schema, or errUnlisted
// if there are too many violations to list. err is the reason why the validation was stopped.
func (c *compiled) validate(ctx context.Context, value any, size *measure, steps int) (violation error, err error) {
	price := size.price() + (&measure{digits: c.digits}).price() - 1
	c.meter.begin(ctx, min(steps, explainSteps), price)
	err = c.meter.run(func() { violation = c.schema.Validate(value) })
	if !errors.Is(err, errSteps) || steps <= explainSteps {
		return violation, err
	}
	// Listing violations takes memory. Without it, more steps are allowed.
	c.meter.begin(ctx, steps, price)
	err = c.meter.run(func() {
		if c.inverse.Validate(value) == nil {
			violation = errUnlisted
		}
	})
	return violation, err
}

// errUnlisted reports that there are too many violations to list.
var errUnlisted = errors.New("it does not fit the schema; it is too large to say where")

// refuse is a loader that loads nothing: a configuration must not make the
// runtime read files or addresses.
type refuse struct{}

// Load refuses every address.
func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: schemas cannot refer to other documents", url)
}

// plainError rewords a compiler's error in terms of the schema instead of the library's addresses.
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

// decodeSchema decodes a schema and rejects it if it is too large.
func decodeSchema(raw json.RawMessage) (any, *measure, error) {
	if len(raw) > maxBytes {
		return nil, nil, limitError("it has %d bytes; at most %d are allowed", len(raw), maxBytes)
	}
	doc, size, err := decodeValue(raw)
	if err != nil {
		if errors.As(err, new(*LimitError)) {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("it is not JSON: %w", err)
	}
	switch doc.(type) {
	case map[string]any, bool:
		return doc, size, size.checkSize()
	default:
		return nil, nil, errors.New("it must be an object or a boolean")
	}
}

// decodeValue reads exactly one JSON value, keeping numbers as written. It fails if a number is out
// of range.
func decodeValue(raw []byte) (any, *measure, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, err
	}
	size := new(measure)
	return v, size, size.add(v, 0, 0)
}
