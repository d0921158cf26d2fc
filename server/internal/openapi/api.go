package openapi

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// API configures the description of a surface in words.
type API struct {
	Title, Doc string
	// Operations describe the routes by their Route.ID.
	Operations map[string]OperationDoc
	// Components describe the types of bodies.
	Components []Component
	// Wildcards describe the wildcards of paths. A key is the end of the path up to a wildcard, such as
	// "runs/{id}".
	Wildcards map[string]string
	// Error is the response with the error format of the surface, if it has one.
	Error *Answer
}

// OperationDoc describes an operation.
type OperationDoc struct {
	Summary, Doc string
	// Parameters are the parameters that are not in the path.
	Parameters []Parameter
	// Body is a value of the type of the body, or its schema; nil for none. It is Optional if it may be
	// omitted.
	Body     any
	Optional bool
	// Media are the media types of the body; empty means JSON.
	Media []string
	// Examples are bodies.
	Examples Examples
	// Answers are the responses by status.
	Answers map[int]Answer
}

// Parameter is a parameter in the query or the header.
type Parameter struct {
	Name, In, Doc string
	Schema        Object
}

// Answer is a response.
type Answer struct {
	Doc string
	// Body is a value of the type of the body, or its schema; nil for none.
	Body any
	// Media are the media types of the body; empty means JSON.
	Media    []string
	Headers  Headers
	Examples Examples
}

// Headers are the headers that every such response has, by name.
type Headers map[string]Header

// Header is a header of a response.
type Header struct {
	Doc string
	// Schema is the schema of the value; nil means text.
	Schema Object
}

// Examples are bodies as JSON, by name.
type Examples map[string]Example

// Example is an example of a body.
type Example struct{ Summary, JSON string }

// Generate returns the description of operations.
func (a *API) Generate(operations []Operation) []byte {
	// No type is in a package without a name, so that those without a component are described in place.
	g, paths := &generator{Surface: &Surface{Package: "-", Open: true}, schemas: Object{}}, map[string]Object{}
	g.addComponents(a.Components)
	for i := range operations {
		method, path, _ := parsePattern(operations[i].Pattern)
		if paths[path] == nil {
			paths[path] = Object{}
			if list := a.pathParameters(path); len(list) > 0 {
				paths[path]["parameters"] = list
			}
		}
		paths[path][strings.ToLower(method)] = g.describeByID(operations[i].ID, a.Operations[operations[i].ID])
	}
	var failure Object
	if a.Error != nil {
		failure = g.describeAnswer(a.Error)
	}
	return g.encodeDocument(a.Title, a.Doc, paths, failure)
}

// pathParameters describes the wildcards of a path.
func (a *API) pathParameters(path string) []Object {
	list := pathParameters(path)
	for _, p := range list {
		name, _ := p["name"].(string)
		before, _, _ := strings.Cut(path, "{"+name+"}")
		for end, doc := range a.Wildcards {
			if strings.HasSuffix(before+"{"+name+"}", end) {
				p["description"] = doc
			}
		}
	}
	return list
}

// describeByID describes the operation with an ID.
func (g *generator) describeByID(id string, doc OperationDoc) Object {
	responses := Object{}
	for status, answer := range doc.Answers {
		responses[strconv.Itoa(status)] = g.describeAnswer(&answer)
	}
	op := Object{"operationId": id, "summary": doc.Summary, "responses": responses}
	if doc.Doc != "" {
		op["description"] = doc.Doc
	}
	var parameters []Object
	for _, p := range doc.Parameters {
		parameters = append(parameters, Object{"name": p.Name, "in": p.In, "description": p.Doc, "schema": p.Schema})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if doc.Body != nil {
		body := Object{"content": g.describeContent(doc.Media, doc.Body, doc.Examples)}
		if !doc.Optional {
			body["required"] = true
		}
		op["requestBody"] = body
	}
	return op
}

// describeAnswer describes a response.
func (g *generator) describeAnswer(a *Answer) Object {
	response := Object{"description": a.Doc}
	if a.Body != nil {
		response["content"] = g.describeContent(a.Media, a.Body, a.Examples)
	}
	if a.Headers != nil {
		response["headers"] = a.Headers.describe()
	}
	return response
}

// describe returns the description of the headers.
func (h Headers) describe() Object {
	headers := Object{}
	for name, header := range h {
		if header.Schema == nil {
			header.Schema = Object{"type": "string"}
		}
		described := Object{"required": true, "schema": header.Schema}
		if header.Doc != "" {
			described["description"] = header.Doc
		}
		headers[name] = described
	}
	return headers
}

// describeContent describes a body.
func (g *generator) describeContent(media []string, body any, examples Examples) Object {
	schema, ok := body.(Object)
	if !ok {
		schema = g.schemaOf(reflect.TypeOf(body))
	}
	described := Object{"schema": schema}
	if len(examples) > 0 {
		list := Object{}
		for name, e := range examples {
			list[name] = Object{"value": json.RawMessage(e.JSON)}
			if e.Summary != "" {
				list[name] = Object{"summary": e.Summary, "value": json.RawMessage(e.JSON)}
			}
		}
		described["examples"] = list
	}
	if media == nil {
		media = []string{"application/json"}
	}
	content := Object{}
	for _, name := range media {
		content[name] = described
	}
	return content
}
