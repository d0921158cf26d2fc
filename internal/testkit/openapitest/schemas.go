package openapitest

import (
	"bytes"
	"net/url"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas holds the schemas of a document.
type schemas struct {
	// base is the name by which the document refers to itself.
	base string

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

func newSchemas(base string, root any) (*schemas, error) {
	s := &schemas{base: base, compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	return s, s.compiler.AddResource(base, root)
}

// at returns the schema that a JSON pointer points to.
func (s *schemas) at(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.compiled[pointer]; ok {
		return made, nil
	}
	made, err := s.compiler.Compile(s.base + "#" + (&url.URL{Path: pointer}).EscapedPath())
	if err != nil {
		return nil, err
	}
	s.compiled[pointer] = made
	return made, nil
}

// validateJSON reports the problems of JSON.
func validateJSON(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
