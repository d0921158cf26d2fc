package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

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
	var failure Object
	if s.Failure != nil {
		failure = Object{"description": "The request was rejected.", "content": Object{g.media: Object{"schema": g.schemaOf(s.Failure)}}}
	}
	return g.encodeDocument(s.Title, s.Description, paths, failure)
}

// encodeDocument returns a description of paths with the components of the generator. Failure is the
// response with the errors of the surface; nil for none.
func (g *generator) encodeDocument(title, description string, paths map[string]Object, failure Object) []byte {
	components := Object{"schemas": g.schemas}
	if failure != nil {
		components["responses"] = Object{errorResponse: failure}
	}
	text, err := json.Marshal(Object{
		"openapi": "3.1.0", "info": Object{"title": title, "version": "1", "description": description}, "paths": paths, "components": components,
	})
	if err != nil {
		return nil // not reached: only strings and schemas
	}
	return text
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
			name, _, _ = strings.Cut(name, "}") // a verb may follow, as in {id}:cancel
			list = append(list, Object{
				"name": name, "in": "path", "required": true, "schema": Object{"type": "string"},
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
