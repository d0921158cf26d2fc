package openapitest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// published is the document schema published with the specification.
//
//go:embed testdata/openapi-3.1.schema.json
var published []byte

var publishedSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	if err != nil {
		return nil, err
	}
	s, err := newSchemas("https://spec.openapis.org/oas/3.1/schema/2022-10-07", root)
	if err != nil {
		return nil, err
	}
	return s.at("")
})

// Validate reports the problems of an OpenAPI 3.1 document, including its examples, by the schema
// and by further rules. Every schema must be referenced.
func Validate(text []byte) error {
	schema, err := publishedSchema()
	if err != nil {
		return err
	}
	if err := validateJSON(schema, text); err != nil {
		return err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return err
	}
	if doc.Components == nil {
		return nil
	}
	var errs []error
	for name := range doc.Components.Schemas {
		if ref := `"#/components/schemas/` + name + `"`; !bytes.Contains(text, []byte(ref)) {
			errs = append(errs, fmt.Errorf("nothing refers to %s", ref))
		}
	}
	return errors.Join(errs...)
}
