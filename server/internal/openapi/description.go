// Package openapi merges the descriptions of a server's surfaces into one OpenAPI document and
// checks each against its routes.
package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Route has the parts of a route that are described.
type Route struct {
	// Pattern is a pattern of http.ServeMux.
	Pattern string
	// Public routes need no credential. Others need one with the Scope, if it is set.
	Public bool
	Scope  string
}

// ErrDescription means that the description of a surface is invalid or does not match its routes.
var ErrDescription = errors.New("the surface is not described as it is")

// operation is a described operation.
type operation struct{ method, path string }

// String returns the operation in the form of a pattern.
func (o operation) String() string { return o.method + " " + o.path }

// Description describes a surface. It is immutable.
type Description struct {
	doc *openapi3.T
	// prefix is added to the names of components in a merged document.
	prefix string
	// routes are the routes that serve the operations.
	routes map[operation]*Route
}

// Describe reads the description of routes, as OpenAPI 3.1 in YAML or JSON. It returns an
// ErrDescription if the description does not match the routes, or if the component
// responses/Error is required although the surface has an error format.
func Describe(text []byte, routes []Route, ownErrors bool) (*Description, error) {
	doc, err := readDescription(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDescription, err)
	}
	d := &Description{doc: doc, prefix: toCamelCase(doc.Info.Title), routes: map[operation]*Route{}}
	if ownErrors && !d.hasError() {
		return nil, fmt.Errorf("%w: responses/Error is required", ErrDescription)
	}
	if err := d.assignRoutes(routes); err != nil {
		return nil, err
	}
	return d, nil
}

// readDescription reads a document and checks that it is valid and omits the server's additions. Its
// examples are checked by tests.
func readDescription(text []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if !doc.IsOpenAPI31OrLater() {
		return nil, fmt.Errorf("the version is %q, not 3.1", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		return nil, err
	}
	if len(doc.Security) > 0 || doc.Components != nil && len(doc.Components.SecuritySchemes) > 0 {
		return nil, errors.New("security is for the server to say")
	}
	return doc, nil
}

// hasError reports whether the description includes the errors of its surface.
func (d *Description) hasError() bool {
	return d.doc.Components != nil && d.doc.Components.Responses[errorResponse] != nil
}

// errorResponse is the name of the response with a surface's error content.
const errorResponse = "Error"

// assignRoutes assigns a route to each operation, and reports unmatched routes and operations.
func (d *Description) assignRoutes(routes []Route) error {
	var errs []error
	busy := make(map[*Route]bool, len(routes))
	for path, item := range d.doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := operation{method, path}
			route := routeFor(routes, o)
			if route == nil {
				errs = append(errs, fmt.Errorf("%w: there is no route for %s", ErrDescription, o))
				continue
			}
			if op.Security != nil {
				errs = append(errs, fmt.Errorf("%w: the security of %s is for the server to say", ErrDescription, o))
			}
			d.routes[o], busy[route] = route, true
		}
	}
	for i := range routes {
		method, path, _ := parsePattern(routes[i].Pattern)
		if !busy[&routes[i]] && (method != "" || d.doc.Paths.Value(path) == nil) {
			errs = append(errs, fmt.Errorf("%w: the route %s has no description", ErrDescription, routes[i].Pattern))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// routeFor returns the route for an operation, chosen like http.ServeMux: the most specific match;
// nil if none matches.
func routeFor(routes []Route, o operation) *Route {
	var found *Route
	best := -1
	for i := range routes {
		method, path, open := parsePattern(routes[i].Pattern)
		exactness := len(path)
		switch {
		case method != "" && method != o.method:
			continue
		case open && !strings.HasPrefix(o.path, path), !open && path != o.path:
			continue
		case method != "":
			exactness++
		}
		if exactness > best {
			found, best = &routes[i], exactness
		}
	}
	return found
}

// parsePattern returns the parts of a pattern. Open reports whether any path may
// follow.
func parsePattern(pattern string) (method, path string, open bool) {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = "", pattern
	}
	path = strings.TrimSuffix(path, "{$}")
	if strings.HasSuffix(path, "...}") {
		return method, path[:strings.LastIndexByte(path, '{')], true
	}
	return method, path, false
}

// toCamelCase returns a title as one word.
func toCamelCase(title string) string {
	var b bytes.Buffer
	for word := range strings.FieldsFuncSeq(title, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		b.WriteString(strings.ToUpper(word[:1]))
		b.WriteString(word[1:])
	}
	return b.String()
}
