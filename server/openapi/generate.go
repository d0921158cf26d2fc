package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Operation describes a route for a generated description.
type Operation struct {
	// Pattern is a pattern of http.ServeMux with a method.
	Pattern string
	// In and Out are the types of the JSON bodies; an operation without an Out is a stream of
	// events.
	In, Out reflect.Type
	// Query has the names of the query parameters.
	Query []string
	// Followed is set if the response may be lines of JSON that report progress, and Streamed if it
	// may be a stream of events.
	Followed, Streamed bool
	// Idle is set if the response is empty while there is nothing to stream.
	Idle bool
	// ID names the OperationDoc for API.Generate.
	ID string
}

// Generate returns a description of operations, for surfaces without a written one. A type without
// a schema is described as any value. failure is the type of error bodies; nil means the server's,
// and a string means text.
func Generate(title string, operations []Operation, failure reflect.Type) []byte {
	paths, media := map[string]object{}, "application/json"
	if failure != nil && failure.Kind() == reflect.String {
		media = "text/plain"
	}
	for _, op := range operations {
		method, path, _ := parsePattern(op.Pattern)
		responses := object{"200": op.describeResponse()}
		if op.Out == nil && method != http.MethodGet { // it chooses how it is answered
			for status, description := range done {
				response := object{"description": description}
				if status != "204" {
					response["content"] = object{"application/json": object{"schema": object{}}}
				}
				responses[status] = response
			}
		}
		for status, description := range failed {
			responses[status] = object{"description": description, "content": object{media: object{"schema": object{}}}}
		}
		if op.Idle {
			responses["204"] = object{"description": "Nothing is under way."}
		}
		described := object{"responses": responses}
		parameters := pathParameters(path)
		for _, name := range op.Query {
			parameters = append(parameters, object{"name": name, "in": "query", "schema": object{"type": "string"}})
		}
		if len(parameters) > 0 {
			described["parameters"] = parameters
		}
		if op.In != nil && op.In.NumField() > 0 && method != http.MethodGet && method != http.MethodDelete {
			described["requestBody"] = object{"content": object{"application/json": object{"schema": schemaOf(op.In)}}}
		}
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = described
	}
	document := object{"openapi": "3.1.0", "info": object{"title": title, "version": "1"}, "paths": paths}
	if failure != nil {
		document["components"] = object{"responses": object{errorResponse: object{
			"description": "The request is refused.", "content": object{media: object{"schema": schemaOf(failure)}},
		}}}
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil // not reached: only strings and schemas
	}
	return text
}

// failed are the statuses of requests rejected by the service. The router's are described for all
// surfaces.
var failed = map[string]string{
	"400": "The request cannot be carried out as it is.",
	"404": "It does not exist, or the caller may not see it.",
	"409": "The request does not go together with what there is.",
}

// done are the statuses of successful requests, in addition to 200.
var done = map[string]string{
	"201": "It was made.",
	"202": "It was accepted, and is carried out later.",
	"204": "It was deleted.",
}

// describeResponse describes an operation's response.
func (op *Operation) describeResponse() object {
	if op.Out == nil {
		return object{"description": "Server-sent events.", "content": object{"text/event-stream": object{"schema": object{}}}}
	}
	content := object{"application/json": object{"schema": schemaOf(op.Out)}}
	if op.Followed {
		content["application/x-ndjson"] = object{"schema": object{}}
	}
	if op.Streamed {
		content["text/event-stream"] = object{"schema": object{}}
	}
	return object{"description": "The result.", "content": content}
}

// pathParameters describes the wildcards of a path.
func pathParameters(path string) (list []object) {
	for _, part := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			list = append(list, object{
				"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"},
			})
		}
	}
	return list
}

// anyJSON are the types that stand for any JSON value, not a list of bytes.
var anyJSON = map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}

func schemaOf(t reflect.Type) any {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{IgnoreInvalidTypes: true, TypeSchemas: anyJSON})
	if err != nil {
		return object{}
	}
	return s
}
