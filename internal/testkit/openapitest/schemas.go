package openapitest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"
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

// content holds the described bodies at a place, by media type.
type content struct {
	description *description
	schemas     *schemas
	at          string
}

// schemaOf returns the schema of bodies with a media type.
func (c *content) schemaOf(media string) (*jsonschema.Schema, error) {
	for _, name := range []string{media, "*/*"} {
		if _, at, found := c.description.lookUp(c.at + "/content/" + escapeKey(name)); found {
			return c.schemas.at(at + "/schema")
		}
	}
	return nil, fmt.Errorf("the media type %q is not described", media)
}

// checkBody reports the problems of a body. A body is allowed only if one is described.
func (c *content) checkBody(media string, body []byte) error {
	if _, _, described := c.description.lookUp(c.at + "/content"); !described {
		if len(body) > 0 {
			return errors.New("no body is described")
		}
		return nil
	}
	schema, err := c.schemaOf(media)
	if err != nil {
		return err
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return validateJSON(schema, body)
	case media == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return err
		}
		fields := make(map[string]any, len(form))
		for name := range form {
			fields[name] = form.Get(name)
		}
		return schema.Validate(fields)
	default:
		return schema.Validate(string(body))
	}
}

// validateJSON reports the problems of JSON.
func validateJSON(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
