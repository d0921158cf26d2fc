package server

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
)

// exchange is the state of a request while it is being served.
type exchange struct {
	id    string
	began time.Time
	// mounted is the route, or nil.
	mounted   *mounted
	principal *Principal
	// keyID is the credential of a rejected request, and problem the reason.
	keyID, problem string
	// operation is the audited operation; empty writes no audit record. audit are the
	// handler's additions to the record.
	operation string
	audit     []zap.Field
	// code is the error response's code.
	code string
	// aborted is set if the response must not look complete.
	aborted bool
	// leave ends the request for the limiter; nil if the request is not counted.
	leave func()
}

// routePath returns the path of the route's pattern; empty without a route.
func (x *exchange) routePath() string {
	if x.mounted == nil {
		return ""
	}
	if _, path, ok := strings.Cut(x.mounted.Pattern, " "); ok {
		return path
	}
	return x.mounted.Pattern
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeFrom(ctx context.Context) *exchange {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return &exchange{} // not reached: the router sets it
	}
	return x
}

// RequestID returns the id of a request, as in the log and in its response.
func RequestID(ctx context.Context) string { return exchangeFrom(ctx).id }

// NoteRefusal records for the log which credential a request presents, if the router does not know
// it, and why the request is rejected. Empty arguments change nothing.
func NoteRefusal(ctx context.Context, keyID, problem string) {
	x := exchangeFrom(ctx)
	x.keyID, x.problem = cmp.Or(keyID, x.keyID), cmp.Or(problem, x.problem)
}

const (
	requestIDHeader = "X-Request-Id"
	// maxRequestID is the size limit of an id chosen by a client, in bytes.
	maxRequestID = 128
)

// requestID returns the client's id for its request if it is safe in headers and logs, otherwise a
// new one.
func requestID(h http.Header, newID func() string) string {
	id := h.Get(requestIDHeader)
	if id == "" || len(id) > maxRequestID {
		return newID()
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return newID()
		}
	}
	return id
}

// ClientOf returns the client address of a request, without the port.
func ClientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
