package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/server/openapi"
	"go.uber.org/zap"
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

// addDescription adds the description of a surface with some routes to that of the server.
func (s *Server) addDescription(surface Surface, routes []Route) error {
	if len(routes) == 0 {
		return nil
	}
	describer, ok := surface.(Describer)
	if !ok {
		return fmt.Errorf("describe %T: %w: nothing describes the route %s", surface, openapi.ErrDescription, routes[0].Pattern)
	}
	described := make([]openapi.Route, len(routes))
	for i := range routes {
		described[i] = openapi.Route{Pattern: routes[i].Pattern, Public: routes[i].Public, Scope: routes[i].Scope}
	}
	_, writes := surface.(ErrorWriter)
	d, err := openapi.Describe(describer.OpenAPI(), described, writes)
	if err != nil {
		return fmt.Errorf("describe %T: %w", surface, err)
	}
	return s.document.Add(d)
}

// OpenAPI returns the description of the server, which is found at /openapi.json:
// a document of OpenAPI 3.1 that describes what is mounted.
func (s *Server) OpenAPI() ([]byte, error) {
	text, _, err := s.document.Text()
	return text, err
}

// serveDocument answers with the description of the server.
func (s *Server) serveDocument(w http.ResponseWriter, r *http.Request) {
	text, etag, err := s.document.Text()
	if err != nil { // not reached: the surfaces were checked when they were mounted
		s.settings.Logger.Error("the description of the server cannot be written", zap.Error(err))
		refuseRequest(w, r, nil, &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "the server failed; its log says why"})
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
	_, _ = w.Write(text) // a client that is gone misses nothing
}
