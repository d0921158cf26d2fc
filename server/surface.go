package server

import (
	"context"
	"net/http"
	"reflect"
)

// Surface is a protocol that a server speaks, as the routes that it answers.
type Surface interface {
	// Routes is called once, when the surface is mounted.
	Routes() []Route
}

// Route is a pattern and what answers the requests that match it. A handler
// finds out who asks with PrincipalFrom, and what to call the request in a log
// with RequestID.
//
// A body is cut off at the limit of the server: reading more gives an
// *http.MaxBytesError. Every write must be taken within the write timeout of the
// server, so that a client which stops reading ends the response and does not
// hold it. A panic becomes an internal error.
type Route struct {
	// Pattern is that of an http.ServeMux. It names a method, but for protocols
	// that answer other methods themselves.
	Pattern string
	Handler http.Handler
	// Public routes are answered without a credential. One that is shown and good
	// counts nevertheless: then there is a principal.
	Public bool
	// Scope is what the principal needs to have; empty needs nothing.
	Scope string
	// Stream tells that a response may take as long as it likes. When the server
	// ends, the context of such a request ends with the cause ErrDraining, early
	// enough to end the response in an orderly way; those of other requests are
	// waited for.
	Stream bool
	// Begins tells that the request asks for new work, which a server that drains
	// refuses with 503 and Retry-After.
	Begins bool
	// Quiet requests are logged with level debug only, if they succeed: probes.
	Quiet bool

	// in and out are the types of the bodies, where Handle made the route.
	in, out reflect.Type
}

// Error is the answer of the router in place of a handler.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is a word for programs, such as unauthorized or rate_limited.
	Code string
	// Message is a sentence for people.
	Message string
	// RequestID is what the request is called in the log.
	RequestID string
	// Scope is the one that the credential lacks, for the code
	// insufficient_scope.
	Scope string
	// Details say the same to programs, as a JSON object; nil for nothing. Only
	// errors of a surface have them.
	Details any
}

// ErrorWriter is implemented by surfaces whose clients know errors in a shape of
// their own. Without it they are {"error":{"code","message","request_id"}}.
type ErrorWriter interface {
	// WriteError writes the status, the content type and the body. Headers that
	// belong to the error, such as WWW-Authenticate and Retry-After, are set.
	WriteError(w http.ResponseWriter, r *http.Request, e *Error)
}

// Listener is implemented by surfaces that listen at an address of their own,
// too, because their protocol cannot share one. The server opens and ends it
// together with itself; each method has the meaning of the server's.
type Listener interface {
	// Listen opens the address.
	Listen(ctx context.Context) error
	// Serve answers until ctx ends, and then takes no more.
	Serve(ctx context.Context) error
	// Shutdown ends the streams and waits for what is under way until ctx ends,
	// then cuts it short. It is called after Serve, and also when only Listen was.
	Shutdown(ctx context.Context) error
}

// Drainer is implemented by surfaces whose clients may owe an answer to what they
// follow when the server begins to drain.
type Drainer interface {
	// DrainClients waits until no client does, or ctx ends. Requests are answered
	// meanwhile.
	DrainClients(ctx context.Context)
}
