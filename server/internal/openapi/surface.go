package openapi

import "reflect"

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
