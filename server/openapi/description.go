package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Describer is implemented by all surfaces that have routes: they describe what
// they answer. The server makes one document of all descriptions, which is found
// at /openapi.json.
type Describer interface {
	// OpenAPI returns a document of OpenAPI 3.1, in YAML or JSON. It is called once,
	// when the surface is mounted.
	//
	// Its operations are the routes of the surface, no more and no fewer, with the
	// same names for what the path holds. A pattern without a method stands for
	// operations of any method, and one that ends in {name...} for all operations
	// below it; both need at least one, or another route with the same path.
	//
	// The title of the document is the tag of its operations, and what the names of
	// its components begin with among those of others. Who may ask is not said
	// there: the server adds the credentials and the scope of each route, and what
	// it answers in place of a handler, with the content of the component
	// responses/Error, which is as the ErrorWriter of the surface writes it. What an
	// operation describes itself stays.
	OpenAPI() []byte
}

// ErrDescription says that the description of a surface is none, or not that of
// its routes.
var ErrDescription = errors.New("the surface is not described as it is")

// operation is what a description describes.
type operation struct{ method, path string }

// String returns the operation as patterns are written.
func (o operation) String() string { return o.method + " " + o.path }

// description is what a surface says of itself.
type description struct {
	doc *openapi3.T
	// prefix is what the names of components begin with among those of others.
	prefix string
	// routes are what answers the operations.
	routes map[operation]*Route
}

// describe reads the description of a surface with some routes; nil when there is
// nothing to describe.
func describe(surface Surface, routes []Route) (*description, error) {
	if len(routes) == 0 {
		return nil, nil //nolint:nilnil // there is no description
	}
	describer, ok := surface.(Describer)
	if !ok {
		return nil, fmt.Errorf("describe %T: %w: nothing describes the route %s", surface, ErrDescription, routes[0].Pattern)
	}
	doc, err := parseDescription(describer.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w: %w", surface, ErrDescription, err)
	}
	d := &description{doc: doc, prefix: camel(doc.Info.Title), routes: map[operation]*Route{}}
	_, writes := surface.(ErrorWriter)
	if writes && !d.hasError() {
		return nil, fmt.Errorf("describe %T: %w: responses/Error is missing", surface, ErrDescription)
	}
	if err := d.assign(routes); err != nil {
		return nil, fmt.Errorf("describe %T: %w", surface, err)
	}
	return d, nil
}

// parsed are the descriptions that were read in this process, by their text: it
// takes milliseconds, and servers that follow one another have the same surfaces.
var parsed sync.Map

// parseDescription returns what readDescription does, which nobody changes.
func parseDescription(text []byte) (*openapi3.T, error) {
	key := sha256.Sum256(text)
	if doc, ok := parsed.Load(key); ok {
		if doc, ok := doc.(*openapi3.T); ok {
			return doc, nil
		}
	}
	doc, err := readDescription(text)
	if err == nil {
		parsed.Store(key, doc)
	}
	return doc, err
}

// readDescription reads a document that is valid and says nothing that is for the
// server to say. The examples in it are left to tests.
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

// hasError reports whether the description has the errors of its surface.
func (d *description) hasError() bool {
	return d.doc.Components != nil && d.doc.Components.Responses[errorResponse] != nil
}

// errorResponse is the response with the content that errors of a surface have.
const errorResponse = "Error"

// assign finds the route of each operation, and complains of what is left on
// either side.
func (d *description) assign(routes []Route) error {
	var errs []error
	busy := make(map[*Route]bool, len(routes))
	for path, item := range d.doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := operation{method, path}
			route := answers(routes, o)
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
			errs = append(errs, fmt.Errorf("%w: nothing describes the route %s", ErrDescription, routes[i].Pattern))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// answers returns the route that answers an operation, as an http.ServeMux finds
// it: the most exact one; nil when there is none.
func answers(routes []Route, o operation) *Route {
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

// parsePattern returns the parts of a pattern. Open tells that the path goes on in
// any way.
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

// OmitPaths returns the description of a surface without some of its paths, for
// surfaces that do not have all of their routes always. A description that is none
// is returned as it is.
func OmitPaths(document []byte, omit func(path string) bool) []byte {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil || doc.Paths == nil {
		return document
	}
	for path := range doc.Paths.Map() {
		if omit(path) {
			doc.Paths.Delete(path)
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return document
	}
	return text
}

// camel returns a title as one word.
func camel(title string) string {
	var b bytes.Buffer
	for word := range strings.FieldsFuncSeq(title, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		b.WriteString(strings.ToUpper(word[:1]))
		b.WriteString(word[1:])
	}
	return b.String()
}
