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

	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// SurfaceSettings configures a surface that begins and follows turns. Service is required and must
// have a runtime.
type SurfaceSettings struct {
	Service *service.Service
	// KeepAlive is the interval of comments on an idle stream; 0 means DefaultKeepAlive.
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

// Route is a pattern and the handler of the requests that match it. A handler gets the principal
// from PrincipalFrom, and the id of the request for logs from RequestID.
//
// A body is cut off at the server's limit: reading more returns an *http.MaxBytesError. Every write
// has the server's write timeout, so a client that stops reading ends the response. A panic becomes
// an internal error.
type Route struct {
	// Pattern is a pattern of http.ServeMux. It contains a method, except for
	// protocols that answer other methods themselves.
	Pattern string
	// Also is another pattern of the route, or empty: a spelling of the path that clients use and
	// the description omits.
	Also    string
	Handler http.Handler
	// Public routes are answered without a credential. With a valid one the request
	// still has a principal.
	Public bool
	// Scope is the scope that the principal needs; empty means none.
	Scope string
	// Stream marks a route whose responses may last indefinitely. On shutdown the context of such a
	// request ends with the cause ErrDraining, early enough to finish the response; the server
	// waits for other requests.
	Stream bool
	// Begins marks a route that begins new work, which a draining server rejects with 503 and
	// Retry-After.
	Begins bool
	// Audit is the operation of the route's requests, such as create_turn. The server writes an
	// audit record for each request, including rejected ones; empty writes none.
	Audit string
	// ID is the operationId, which DescribeAPI needs and WithDoc sets.
	ID string
	// Quiet requests are logged at debug level if they succeed: probes.
	Quiet bool

	// Idle marks a Stream that is answered with 204 while there is nothing to stream.
	Idle bool

	// in and out are the types of the bodies if Handle made the route.
	in, out reflect.Type
	// followed is set if clients may request progress.
	followed bool
	// query has the parameters listed by WithQuery; nil accepts any.
	query []string
	// doc describes the route in words.
	doc openapi.Doc
}

// WithDoc returns the route with its description in words.
func (r Route) WithDoc(doc openapi.Doc) Route {
	r.ID, r.doc = doc.ID, doc
	return r
}

// WithQuery returns the route with the allowed query parameters. A request with any other parameter,
// or with one of them twice, is rejected.
func (r Route) WithQuery(names ...string) Route {
	r.query = append([]string{}, names...)
	return r
}

// WithAudit returns the route with the operation of its requests in the audit log.
func (r Route) WithAudit(operation string) Route {
	r.Audit = operation
	return r
}

// WithStream returns the route as one whose responses may last indefinitely.
func (r Route) WithStream() Route {
	r.Stream = true
	return r
}

// WithNewTurn returns the route as one whose requests begin a turn.
func (r Route) WithNewTurn() Route {
	r.Begins = true
	return r.WithAudit(AuditCreateTurn)
}

// WithBody returns the route with the type of its body, for the description of a route
// whose handler writes the response.
func (r Route) WithBody(body any) Route {
	r.in = reflect.TypeOf(body)
	return r
}

// checkQuery reports a malformed query, or the first parameter that is unknown or given more than
// once, as a *service.InvalidError.
func (r *Route) checkQuery(raw string) error {
	if r.query == nil {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return &service.InvalidError{Field: "query", Problem: "cannot be read"}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if unknown := UnknownName("", name, r.query); unknown != nil {
			return &service.InvalidError{Field: unknown.Path, Problem: strings.Replace(unknown.problem(), "field", "parameter", 1)}
		}
		if len(query[name]) > 1 {
			return &service.InvalidError{Field: name, Problem: "is given more than once"}
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
	// WriteError writes the status, the content type and the body. Headers of the error, such as
	// WWW-Authenticate and Retry-After, are already set.
	WriteError(w http.ResponseWriter, r *http.Request, e *Error)
}

// Listener is implemented by surfaces that also listen on their own address, because their protocol
// cannot share one. The server starts and stops it together with itself; each method has the same
// meaning as the server's.
type Listener interface {
	// Listen opens the address.
	Listen(ctx context.Context) error
	// Serve handles requests until ctx ends, then accepts no more.
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
