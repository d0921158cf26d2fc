package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"go.uber.org/zap"
)

// Describer is implemented by every surface that has routes. The server merges all
// descriptions into one document and serves it at /openapi.json.
type Describer interface {
	// OpenAPI returns an OpenAPI 3.1 document, in YAML or JSON. It is called once,
	// when the surface is mounted, or later for a DeferredDescriber.
	//
	// Its operations are exactly the routes of the surface, with the same path parameters. A
	// pattern without a method matches operations of any method, and one ending in {name...} all
	// operations below it; both need at least one operation, or another route with the same path.
	//
	// The title is the tag of the operations and the prefix of the components in the merged
	// document. The description omits authentication: the server adds each route's credentials
	// and scope, and its own error responses, with the content of the component responses/Error,
	// which describes the output of the surface's ErrorWriter. Responses described by an
	// operation are kept.
	OpenAPI() []byte
}

// DeferredDescriber is implemented by surfaces whose descriptions are tested against their
// routes, like those in this module. The server reads such a description when its document is
// first requested, since reading all of them takes longer than the rest of its start. A wrong
// description then fails Server.OpenAPI instead of Server.Mount.
type DeferredDescriber interface {
	Describer
	// DeferDescription does nothing.
	DeferDescription()
}

// addDescription adds a surface's description and routes to the server's.
func (s *Server) addDescription(surface Surface, routes []Route) error {
	if len(routes) == 0 {
		return nil
	}
	describer, ok := surface.(Describer)
	if !ok {
		return fmt.Errorf("describe %T: %w: the route %s has no description", surface, openapi.ErrDescription, routes[0].Pattern)
	}
	describe := func() (*openapi.Description, error) { return describeSurface(describer, routes) }
	if _, deferred := surface.(DeferredDescriber); deferred {
		s.document.Defer(describe)
		return nil
	}
	d, err := describe()
	if err != nil {
		return err
	}
	return s.document.Add(d)
}

// describeSurface checks the description of a surface against its routes.
func describeSurface(surface Describer, routes []Route) (*openapi.Description, error) {
	described := make([]openapi.Route, len(routes))
	for i := range routes {
		described[i] = openapi.Route{Pattern: routes[i].Pattern, Public: routes[i].Public, Scope: routes[i].Scope}
	}
	_, writes := surface.(ErrorWriter)
	d, err := openapi.Describe(surface.OpenAPI(), described, writes)
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w", surface, err)
	}
	return d, nil
}

// OpenAPI returns the description of everything that is mounted, as an OpenAPI 3.1
// document. The server serves it at /openapi.json.
func (s *Server) OpenAPI() ([]byte, error) {
	text, _, err := s.document.Text()
	return text, err
}

// serveDocument responds with the server's description.
func (s *Server) serveDocument(w http.ResponseWriter, r *http.Request) {
	text, etag, err := s.document.Text()
	if err != nil { // not reached: surfaces were checked by tests or when mounted
		s.settings.Logger.Error("making the OpenAPI document failed", zap.Error(err))
		refuseRequest(w, r, nil, &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "internal error; see the server log"})
		return
	}
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if known := r.Header.Get("If-None-Match"); known == "*" || strings.Contains(known, etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // the client may be gone
}
