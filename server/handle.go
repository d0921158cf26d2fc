package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// FailureWriter is implemented by surfaces that write handler errors themselves. Otherwise failures
// use the surface's error format.
type FailureWriter interface {
	// WriteFailure writes a handler error, which Classify understands.
	WriteFailure(w http.ResponseWriter, r *http.Request, err error)
}

// Answer returns a route whose handler gets the caller, and writes a response or
// returns an error. The router writes the error in the error format of the surface.
func Answer(pattern, scope string, answer func(w http.ResponseWriter, r *http.Request, caller service.Caller) error) Route {
	return Route{Pattern: pattern, Scope: scope, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal, ok := PrincipalFrom(r.Context())
		if !ok {
			writeFailure(w, r, errNoPrincipal)
			return
		}
		if err := answer(w, r, principal.Caller); err != nil {
			writeFailure(w, r, err)
		}
	})}
}

// errNoPrincipal is not reached: routes made by Answer are not public.
var errNoPrincipal = errors.New("the request has no principal")

// tagged is implemented by answers that have an entity tag.
type tagged interface {
	// ETag returns the tag without quotes; empty for none.
	ETag() string
}

// Handle returns a route that decodes a JSON body, passes it to a function and writes the result
// as JSON, with the ETag of a tagged result. It rejects invalid bodies, and queries unless
// WithQuery lists their parameters. For GET and DELETE the In is zero.
func Handle[In, Out any](pattern, scope string, answer func(ctx context.Context, caller service.Caller, r *http.Request, in In) (Out, error)) Route {
	route := Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		var in In
		if r.Method != http.MethodGet && r.Method != http.MethodDelete {
			if err := ReadJSON(r, &in, true); err != nil {
				return err
			}
		}
		out, err := answer(r.Context(), caller, r, in)
		if err != nil {
			return err
		}
		if own, ok := any(out).(tagged); ok {
			if tag := own.ETag(); tag != "" {
				w.Header().Set("ETag", `"`+tag+`"`)
			}
		}
		return WriteJSON(w, http.StatusOK, out)
	})
	route.in, route.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	return route.WithQuery()
}

// Typed adds the types of its bodies to a route made by Answer, for the description. The route may
// also stream its response if it is a Stream.
func Typed[In, Out any](route Route) Route {
	route.in, route.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	return route
}

// DescribeErrors is DescribeSurface for a surface whose errors have bodies of the type E.
func DescribeErrors[E any](title string, routes []Route) []byte {
	return DescribeSurface(&openapi.Surface{Title: title, Failure: reflect.TypeFor[E]()}, routes)
}

// DescribeSurface generates an OpenAPI description of routes, for the OpenAPI method of surfaces
// whose routes are made by Handle or Typed, or are event streams.
func DescribeSurface(s *openapi.Surface, routes []Route) []byte {
	return openapi.Generate(s, operationsOf(routes))
}

// DescribeAPI generates the description of routes that have an ID.
func DescribeAPI(api *openapi.API, routes []Route) []byte { return api.Generate(operationsOf(routes)) }

func operationsOf(routes []Route) []openapi.Operation {
	operations := make([]openapi.Operation, len(routes))
	for i := range routes {
		r := &routes[i]
		operations[i] = openapi.Operation{
			Pattern: r.Pattern, In: r.in, Out: r.out, Query: r.query, Followed: r.followed, Streamed: r.Stream, Idle: r.Idle, ID: r.ID, Doc: r.doc,
		}
	}
	return operations
}

// writeFailure answers with an error of a handler.
func writeFailure(w http.ResponseWriter, r *http.Request, err error) {
	m := exchangeFrom(r.Context()).mounted
	if m != nil && m.failures != nil {
		m.failures.WriteFailure(w, r, err)
		return
	}
	logger, writer := zap.NewNop(), ErrorWriter(nil)
	if m != nil {
		logger, writer = m.router.server.settings.Logger, m.writer
	}
	Report(r.Context(), logger, err).writeError(w, r, writer)
}

// ReadJSON decodes the body of a request, a JSON object, into a struct. An empty body counts as
// an empty object. With strict, unknown fields are an error. The error is a *service.InvalidError
// or a read error.
func ReadJSON(r *http.Request, into any, strict bool) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if len(data) == 0 {
		return nil
	}
	return DecodeJSON(data, into, strict)
}

// DecodeJSON decodes a JSON object like ReadJSON.
func DecodeJSON(data []byte, into any, strict bool) error {
	if err := CheckJSON(data, MaxJSONDepth); err != nil {
		return badBody(err.Error())
	}
	if bytes.TrimSpace(data)[0] != '{' {
		return badBody("is not a JSON object")
	}
	if strict {
		if unknown, ok := errors.AsType[*UnknownFieldError](checkFields(data, into)); ok {
			return &service.InvalidError{Field: unknown.Path, Problem: unknown.problem()}
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if strict { // for types with their own decoder
		decoder.DisallowUnknownFields()
	}
	err := decoder.Decode(into)
	if err == nil {
		return nil
	}
	path, problem := rawjson.DescribeError(err, reflect.TypeOf(into))
	return &service.InvalidError{Field: cmp.Or(path, "body"), Problem: clip.Text(problem)}
}

func badBody(problem string) error { return &service.InvalidError{Field: "body", Problem: problem} }
