package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// Surface configures a generated description.
type Surface struct {
	Title, Description string
	// Failure is the type of error bodies; nil means the server's, and a string means text.
	Failure reflect.Type
	// Package is the package of the surface, whose structs become components. If it is empty, all
	// types are described in place, and slices and pointers may be null.
	Package string
	// Open is set if objects may have unknown fields, unless their types say otherwise.
	Open bool
	// Views are the types that describe other types.
	Views map[reflect.Type]reflect.Type
}

// Operation describes a route for a generated description.
type Operation struct {
	// Pattern is a pattern of http.ServeMux with a method.
	Pattern string
	// In and Out are the types of the JSON bodies; an operation without an Out is a stream of
	// events. Fields of In with the tag query, header or path are parameters, and the one with the
	// tag body is the body.
	In, Out reflect.Type
	// Query has the names of the query parameters.
	Query []string
	// Followed is set if the response may be lines of JSON that report progress, and Streamed if it
	// may be a stream of events.
	Followed, Streamed bool
	// Idle is set if the response is empty while there is nothing to stream.
	Idle bool
	// ID is the operationId. Without it, a generated description has no words.
	ID string

	Doc
}

// Doc describes an operation in words.
type Doc struct {
	ID, Summary, Description string
	// Result describes the successful response, whose status is Created if it is set; empty means
	// that the operation always fails. Empty describes a response with the status 204, if there is one.
	Result, Empty string
	Created       bool
	// Header is a header of the successful response, if there is one.
	Header, HeaderAbout string
	// Event is the type of the events in a stream.
	Event reflect.Type
	// Failures are the statuses of requests rejected by the service.
	Failures []int
}

// Generate returns a description of operations, for surfaces without a written one.
func Generate(s *Surface, operations []Operation) []byte {
	g := &generator{Surface: s, schemas: Object{}, media: "application/json"}
	if s.Failure != nil && s.Failure.Kind() == reflect.String {
		g.media = "text/plain"
	}
	paths := map[string]Object{}
	for i := range operations {
		op := &operations[i]
		method, path, _ := parsePattern(op.Pattern)
		described := g.describeOperation(op, method)
		if parameters := g.parametersOf(op, path); len(parameters) > 0 {
			described["parameters"] = parameters
		}
		if method != http.MethodGet && method != http.MethodDelete {
			if body := g.bodyOf(op.In); body != nil {
				described["requestBody"] = body
			}
		}
		if paths[path] == nil {
			paths[path] = Object{}
		}
		paths[path][strings.ToLower(method)] = described
	}
	document := Object{"openapi": "3.1.0", "info": Object{"title": s.Title, "version": "1", "description": s.Description}, "paths": paths}
	components := Object{"schemas": g.schemas}
	if s.Failure != nil {
		components["responses"] = Object{errorResponse: Object{
			"description": "The request was rejected.", "content": Object{g.media: Object{"schema": g.schemaOf(s.Failure)}},
		}}
	}
	document["components"] = components
	text, err := json.Marshal(document)
	if err != nil {
		return nil // not reached: only strings and schemas
	}
	return text
}

// generator generates a description.
type generator struct {
	*Surface
	// schemas are the components, and media is the media type of errors.
	schemas Object
	media   string
	// components describe types in other words.
	components map[reflect.Type]*Component
}

// describeOperation returns an operation without its request.
func (g *generator) describeOperation(op *Operation, method string) Object {
	responses := Object{}
	described := Object{"responses": responses}
	if op.ID != "" {
		described["operationId"], described["summary"], described["description"] = op.ID, op.Summary, op.Description
		response := g.describeResponse(op)
		response["description"] = op.Result
		status := http.StatusOK
		if op.Created {
			status = http.StatusCreated
		}
		if op.Header != "" {
			response["headers"] = Object{op.Header: Object{"description": op.HeaderAbout, "schema": Object{"type": "string"}}}
		}
		if op.Result != "" {
			responses[strconv.Itoa(status)] = response
		}
		if op.Empty != "" {
			responses["204"] = Object{"description": op.Empty}
		}
		for _, status := range op.Failures {
			responses[strconv.Itoa(status)] = Object{"$ref": "#/components/responses/" + errorResponse}
		}
		return described
	}
	responses["200"] = g.describeResponse(op)
	if op.Out == nil && method != http.MethodGet { // it chooses how it is answered
		for status, description := range done {
			response := Object{"description": description}
			if status != "204" {
				response["content"] = Object{"application/json": Object{"schema": Object{}}}
			}
			responses[status] = response
		}
	}
	for status, description := range failed {
		responses[status] = Object{"description": description, "content": Object{g.media: Object{"schema": Object{}}}}
	}
	if op.Idle {
		responses["204"] = Object{"description": "There is nothing to stream."}
	}
	return described
}

// failed are the statuses of requests rejected by the service. The router's are described for all
// surfaces.
var failed = map[string]string{
	"400": "The request is invalid.",
	"404": "The resource does not exist, or the caller may not see it.",
	"409": "The request conflicts with the current state.",
}

// done are the statuses of successful requests, in addition to 200.
var done = map[string]string{
	"201": "The resource was created.",
	"202": "The request was accepted and will be processed later.",
	"204": "The resource was deleted.",
}

// describeResponse describes an operation's response.
func (g *generator) describeResponse(op *Operation) Object {
	events := Object{}
	if op.Event != nil {
		events = g.schemaOf(op.Event)
	}
	if op.Out == nil {
		return Object{"description": "Server-sent events.", "content": Object{"text/event-stream": Object{"schema": events}}}
	}
	content := Object{"application/json": Object{"schema": g.schemaOf(op.Out)}}
	if op.Followed {
		content["application/x-ndjson"] = Object{"schema": Object{}}
	}
	if op.Streamed && (op.ID == "" || op.Event != nil) {
		content["text/event-stream"] = Object{"schema": events}
	}
	return Object{"description": "The result.", "content": content}
}

// bodyOf describes the body of a request; nil if it has none.
func (g *generator) bodyOf(in reflect.Type) Object {
	if in == nil {
		return nil
	}
	described, fields := in, 0
	for _, f := range reflect.VisibleFields(in) {
		if _, ok := f.Tag.Lookup("body"); ok {
			described, fields = f.Type, 1
			break
		}
		if nameOf(&f) != "" {
			fields++
		}
	}
	if fields == 0 {
		return nil
	}
	body := Object{"content": Object{"application/json": Object{"schema": g.schemaOf(described)}}}
	if _, required := g.structOf(g.viewOf(described))["required"]; required && g.Package != "" {
		body["required"] = true
	}
	return body
}

// parametersOf describes the wildcards of a path, and the query parameters and headers of an
// operation.
func (g *generator) parametersOf(op *Operation, path string) (list []Object) {
	described := map[string]Object{}
	for _, f := range parameterFields(op.In) {
		for _, place := range []string{"query", "header", "path"} {
			name, ok := f.Tag.Lookup(place)
			if !ok || name == "" {
				continue
			}
			schema := g.fieldOf(&f)
			p := Object{"name": name, "in": place, "description": f.Tag.Get("jsonschema"), "schema": schema}
			delete(schema, "description")
			if described[name] = p; place != "path" {
				list = append(list, p)
			}
		}
	}
	for _, p := range pathParameters(path) {
		if known := described[p["name"].(string)]; known != nil { //nolint:forcetypeassert // it is one
			p["description"], p["schema"] = known["description"], known["schema"]
		}
		list = append(list, p)
	}
	for _, name := range op.Query {
		list = append(list, Object{"name": name, "in": "query", "schema": Object{"type": "string"}})
	}
	return list
}

// pathParameters describes the wildcards of a path.
func pathParameters(path string) (list []Object) {
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			list = append(list, Object{
				"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": Object{"type": "string"},
			})
		}
	}
	return list
}

// parameterFields returns the fields of a type and of the structs in it.
func parameterFields(t reflect.Type) (list []reflect.StructField) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		list = append(append(list, t.Field(i)), parameterFields(t.Field(i).Type)...)
	}
	return list
}
