package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"

	"github.com/agentruntime/agentruntime/diag"
)

// DefaultOutputName is the name of an output schema without a name.
const DefaultOutputName = "output"

// maxOutputSchema bounds an output schema as compact JSON, in bytes.
const maxOutputSchema = 32 << 10

var outputName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// OnMismatch is the treatment of a turn whose answer does not match its schema.
type OnMismatch string

// How a turn ends if its answer does not match the schema, even after retries. Empty means
// MismatchFails.
const (
	// MismatchFails fails the turn.
	MismatchFails OnMismatch = "fail"
	// MismatchAccepted accepts the answer as it is. The schema is requested but not enforced, so
	// one that does not compile is passed to the vendor.
	MismatchAccepted OnMismatch = "accept"
)

// OutputSchema is the schema that the final answer of a turn must satisfy.
type OutputSchema struct {
	Name   string          `json:"name,omitempty" default:"output" pattern:"^[a-zA-Z0-9_-]{1,64}$" doc:"The name of the schema in requests to vendors."`
	Schema json.RawMessage `json:"schema" required:"true" doc:"The JSON Schema that the final answer must satisfy."`

	OnMismatch OnMismatch `json:"on_mismatch,omitempty" enum:"fail|accept" default:"fail" doc:"What happens if the answer does not match the schema even after it was requested again: fail fails the turn, accept accepts the answer as it is."`
}

// DisplayName returns the name, or DefaultOutputName.
func (o *OutputSchema) DisplayName() string { return cmp.Or(o.Name, DefaultOutputName) }

// Validate checks the record by itself. Compilation errors are reported where the schema is
// compiled. Fields in place of keywords, a mistake in handwritten schemas, are reported with the
// agent.
func (o *OutputSchema) Validate() diag.List {
	var list diag.List
	if o.Name != "" && !outputName.MatchString(o.Name) {
		list = append(list, diag.New(diag.InvalidValue, "name", "name is %q; it must be 1 to 64 letters, digits, '_' or '-'", o.Name))
	}
	list = append(list, checkChoice("on_mismatch", o.OnMismatch, MismatchFails, MismatchAccepted)...)
	var fields map[string]json.RawMessage
	var compact bytes.Buffer
	switch {
	case len(o.Schema) == 0:
		return append(list, diag.New(diag.MissingField, "schema", "schema is required"))
	case json.Unmarshal(o.Schema, &fields) != nil || fields == nil:
		return append(list, diag.New(diag.InvalidSchema, "schema", "schema must be a JSON Schema written as an object"))
	case json.Compact(&compact, o.Schema) == nil && compact.Len() > maxOutputSchema:
		list = append(list, diag.New(diag.InvalidSchema, "schema", "schema has %d bytes as JSON; at most %d are allowed", compact.Len(), maxOutputSchema))
	}
	return list
}
