package server

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// SurfaceSettings configures a surface that begins and follows turns. The Service is required,
// and must have a runtime.
type SurfaceSettings struct {
	Service *service.Service
	// KeepAlive is how often an idle stream sends a comment; the default is DefaultKeepAlive.
	KeepAlive time.Duration
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Surface is a protocol of a server: a set of routes.
type Surface interface {
	// Routes is called once, when the surface is mounted.
	Routes() []Route
}

// Route is a pattern and the handler of the requests that match it. A handler gets
// the principal from PrincipalFrom, and the id of the request for logs from
// RequestID.
//
// A body is cut off at the limit of the server: reading more returns an
// *http.MaxBytesError. Every write has the write timeout of the server, so that a
// client that stops reading ends the response. A panic becomes an internal error.
type Route struct {
	// Pattern is a pattern of http.ServeMux. It contains a method, except for
	// protocols that answer other methods themselves.
	Pattern string
	// Also is another pattern that requests of the route may have, or empty: a spelling of
	// the path that clients use and the description leaves out.
	Also    string
	Handler http.Handler
	// Public routes are answered without a credential. With a valid one the request
	// still has a principal.
	Public bool
	// Scope is the scope that the principal needs; empty means none.
	Scope string
	// Stream marks a route whose responses may last indefinitely. On shutdown the
	// context of such a request ends with the cause ErrDraining, early enough to
	// finish the response; other requests are waited for.
	Stream bool
	// Begins marks a route that begins new work, which a draining server refuses
	// with 503 and Retry-After.
	Begins bool
	// Audit is the operation that requests of the route ask for, such as create_turn.
	// The server writes an audit record of each, refused ones too; empty writes none.
	Audit string
	// Quiet requests are logged with level debug only, if they succeed: probes.
	Quiet bool

	// Idle marks a Stream that is answered with 204 while there is nothing to stream.
	Idle bool

	// in and out are the types of the bodies, where Handle made the route.
	in, out reflect.Type
	// followed is set where clients may ask for progress.
	followed bool
	// query is the parameters that WithQuery lists; nil accepts any.
	query []string
}

// WithQuery returns the route with the parameters that its query may have. A request
// with any other parameter is rejected.
func (r Route) WithQuery(names ...string) Route {
	r.query = append([]string{}, names...)
	return r
}

// WithBody returns the route with the type of its body, for the description of a route
// whose handler writes the response.
func (r Route) WithBody(body any) Route {
	r.in = reflect.TypeOf(body)
	return r
}

// checkQuery reports the first unknown parameter as a *service.InvalidError.
func (r *Route) checkQuery(query url.Values) error {
	if r.query == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if unknown := UnknownName("", name, r.query); unknown != nil {
			return &service.InvalidError{Field: unknown.Path, Problem: strings.Replace(unknown.Problem(), "field", "parameter", 1)}
		}
	}
	return nil
}

// Error is an error response of the router, sent instead of a handler's response.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is a machine-readable word, such as unauthorized or rate_limited.
	Code string
	// Message is a sentence for people.
	Message string
	// RequestID is the id of the request in the log.
	RequestID string
	// Scope is the missing scope, for the code insufficient_scope.
	Scope string
	// Details is the machine-readable form, as a JSON object, or nil. Only errors
	// of a surface have details.
	Details any
}

// ErrorWriter is implemented by surfaces with their own error format. The default
// is {"error":{"code","message","request_id"}}.
type ErrorWriter interface {
	// WriteError writes the status, the content type and the body. Headers that
	// belong to the error, such as WWW-Authenticate and Retry-After, are set.
	WriteError(w http.ResponseWriter, r *http.Request, e *Error)
}

// Listener is implemented by surfaces that listen on their own address, too,
// because their protocol cannot share one. The server starts and stops it together
// with itself; each method has the meaning of the server's.
type Listener interface {
	// Listen opens the address.
	Listen(ctx context.Context) error
	// Serve answers until ctx ends, and then accepts no more.
	Serve(ctx context.Context) error
	// Shutdown ends streams and waits for requests until ctx ends, then cuts them
	// short. It is called after Serve, and also if only Listen was called.
	Shutdown(ctx context.Context) error
}

// Drainer is implemented by surfaces whose clients may have pending answers when
// the server begins to drain.
type Drainer interface {
	// DrainClients waits until no client is left or ctx ends. Requests are still answered while
	// it waits.
	DrainClients(ctx context.Context)
}
