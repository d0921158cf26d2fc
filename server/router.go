package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/telemetry"
	"go.uber.org/zap"
)

// router finds the route of a request, and decides whether it is answered.
type router struct {
	server  *Server
	mux     *http.ServeMux
	cors    *cors
	limiter *limiter
	metrics *metrics
	// routes are those that are mounted, in their order.
	routes []*mounted
}

// mounted is a route as a part of a server.
type mounted struct {
	Route
	router *router
	// writer is the surface's own shape of errors, or nil.
	writer ErrorWriter
	// failures is its own form of what handlers return, or nil.
	failures FailureWriter
}

func newRouter(s *Server, m *metrics) *router {
	return &router{
		server: s, mux: http.NewServeMux(), cors: newCORS(s.settings.CORSOrigins),
		limiter: newLimiter(s.settings.Rate, s.settings.Clock), metrics: m,
	}
}

// addRoute adds a route of a surface.
func (rt *router) addRoute(surface Surface, route Route) (err error) {
	defer panics.Handle(func(p *panics.Error) { // a ServeMux says in no other way that a pattern is wrong
		err = fmt.Errorf("mount %q: %v", route.Pattern, p.Value)
	})
	m := &mounted{Route: route, router: rt}
	m.writer, _ = surface.(ErrorWriter)
	m.failures, _ = surface.(FailureWriter)
	rt.mux.Handle(route.Pattern, m)
	rt.routes = append(rt.routes, m)
	return nil
}

// ServeHTTP answers a request, whatever becomes of it, and logs it.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := rt.server
	x := &exchange{id: requestID(r.Header, s.settings.NewID), began: s.settings.Clock()}
	ctx := withExchange(r.Context(), x)
	r = r.WithContext(ctx)
	out := newResponse(w, s.settings.Limits.WriteTimeout)
	out.setReadDeadline(r.Body, s.settings.Limits.ReadTimeout)
	out.Header().Set(requestIDHeader, x.id)
	rt.metrics.beginRequest(ctx, r)
	defer func() {
		cause := recover()
		if cause == nil && x.detached != nil {
			go rt.serveRest(out, x) // it ends with the stream, for which Shutdown waits
			return
		}
		rt.endExchange(out, r, x, cause)
		switch {
		case out.conn != nil:
			out.conn.finishResponse(false)
		case x.aborted:
			panic(http.ErrAbortHandler) // the only way to close a connection in the middle of a response
		default:
			if !out.flushed {
				readUnread(r)
			}
			out.setFinalDeadlines()
		}
	}()
	if !checkFraming(out, r) {
		refuseRequest(out, r, rt.nearestErrorWriter(r.URL.Path), &Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: "the request has both a Content-Length and a Transfer-Encoding"})
		return
	}
	if rt.cors.addHeaders(out, r) {
		return
	}
	if s.starting.Load() && !isProbe(r.URL.Path) {
		out.Header().Set("Retry-After", formatSeconds(time.Second))
		refuseRequest(out, r, nil, &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "the server is starting"})
		return
	}
	r = oneSlash(r)
	handler, pattern := rt.mux.Handler(r)
	if pattern == "" {
		rt.answerUnrouted(out, r, handler)
		return
	}
	rt.mux.ServeHTTP(out, r)
}

// oneSlash returns a request with one slash in its path where there are several, as
// clients write them that join addresses. A mux would redirect them, which many do
// not follow.
func oneSlash(r *http.Request) *http.Request {
	if r.URL.RawPath != "" || !strings.Contains(r.URL.Path, "//") {
		return r
	}
	var path strings.Builder
	for i := range len(r.URL.Path) {
		if c := r.URL.Path[i]; c != '/' || i == 0 || r.URL.Path[i-1] != '/' {
			path.WriteByte(c)
		}
	}
	plain, at := r.WithContext(r.Context()), *r.URL
	plain.URL, at.Path = &at, path.String()
	return plain
}

// endExchange notes that a response has ended, in the way that recover tells.
func (rt *router) endExchange(w *response, r *http.Request, x *exchange, cause any) {
	if x.leave != nil {
		x.leave()
	}
	rt.handlePanic(w, r, x, cause)
	rt.metrics.endRequest(r.Context(), r, x, w, rt.server.settings.Clock().Sub(x.began))
	rt.logRequest(r, x, w)
}

// serveRest makes the rest of a response whose connection was taken from net/http.
func (rt *router) serveRest(w *response, x *exchange) {
	defer func() {
		cause := recover()
		if w.conn.gone {
			_ = w.noteError(ErrClientGone)
		}
		rt.endExchange(w, x.detached.request, x, cause)
		w.setWriteDeadline()
		w.conn.finishResponse(!x.aborted && w.err == nil)
	}()
	ctx, end := rt.server.detachedContext(x.detached.request.Context())
	defer end()
	x.detached.serve(ctx, x.detached.out)
}

// answerUnrouted answers a request that no route matches, in the shape of the surface
// that its path would belong to. The handler is that of the mux, which knows
// whether another method would do.
func (rt *router) answerUnrouted(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	verdict, writer := &statusRecorder{header: http.Header{}}, rt.nearestErrorWriter(r.URL.Path)
	handler.ServeHTTP(verdict, r)
	if verdict.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", verdict.header.Get("Allow"))
		refuseRequest(w, r, writer, &Error{Status: verdict.status, Code: "method_not_allowed", Message: "the method " + knownMethod(r.Method) + " is not allowed here"})
		return
	}
	refuseRequest(w, r, writer, &Error{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing here"})
}

// nearestErrorWriter returns the shape of errors of the surface with the route whose path
// has the most in common with one, up to the first wildcard; nil for the server's
// own, which is that of a server that is starting.
func (rt *router) nearestErrorWriter(path string) (writer ErrorWriter) {
	if rt.server.starting.Load() {
		return nil // routes are added meanwhile
	}
	most := len("/")
	for _, m := range rt.routes {
		fixed, _, _ := strings.Cut(m.Pattern[strings.IndexByte(m.Pattern, '/'):], "{")
		if len(fixed) > most && (path == fixed || strings.HasSuffix(fixed, "/") && strings.HasPrefix(path, fixed)) {
			most, writer = len(fixed), m.writer
		}
	}
	return writer
}

// statusRecorder takes in the status of a response and drops the rest.
type statusRecorder struct {
	header http.Header
	status int
}

// Header returns the header of the response.
func (v *statusRecorder) Header() http.Header { return v.header }

// Write drops the body.
func (*statusRecorder) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader keeps the status.
func (v *statusRecorder) WriteHeader(status int) { v.status = status }

// handlePanic makes a panic of a handler an internal error. Once a response has
// begun only closing the connection shows that it is not whole.
func (rt *router) handlePanic(w *response, r *http.Request, x *exchange, cause any) {
	if cause == nil {
		return
	}
	if err, ok := cause.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		rt.server.settings.Logger.Error("a handler panicked", zap.String("request_id", x.id), zap.String("route", x.routePath()),
			zap.Any("panic", cause), zap.Stack("stack"))
		if w.status == 0 {
			var writer ErrorWriter
			if x.mounted != nil {
				writer = x.mounted.writer
			}
			refuseRequest(w, r, writer, &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "the server failed; its log says why"})
			return
		}
	}
	x.aborted = true
}

// ServeHTTP answers a request that matches the route, if whoever asks may.
func (m *mounted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := m.router.server
	x := exchangeFrom(r.Context())
	x.mounted = m
	principal, refusal := m.authorizeRequest(w, r, x)
	if refusal != nil {
		refuseRequest(w, r, m.writer, refusal)
		return
	}
	if principal != nil {
		x.principal = principal
		leave := m.beginRequest(w, r, principal)
		if leave == nil {
			return
		}
		x.leave = leave
		// Whoever may ask may also say what trace the request is a part of.
		r = r.WithContext(WithPrincipal(telemetry.Extract(r.Context(), r.Header), principal))
	}
	if m.Begins && s.draining.Load() {
		w.Header().Set("Retry-After", formatSeconds(time.Second))
		refuseRequest(w, r, m.writer, &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: ErrDraining.Error()})
		return
	}
	if !m.checkBodySize(w, r) {
		return
	}
	r.Body = limitBody(w, r.Body, s.settings.Limits)
	if m.Stream {
		ctx, end := s.streamContext(r.Context())
		defer end()
		r = r.WithContext(ctx)
	}
	m.Handler.ServeHTTP(w, r)
}

// beginRequest begins a request of a principal, which leave ends. It is nil for one that
// was refused because there are too many.
func (m *mounted) beginRequest(w http.ResponseWriter, r *http.Request, p *Principal) (leave func()) {
	leave, err := m.router.server.Enter(p)
	if err != nil {
		SetRetryAfter(w, err)
		refuseRequest(w, r, m.writer, &Error{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: err.Error()})
	}
	return leave
}

// checkBodySize reports whether a body is said to be no larger than it may be. A request
// with one that is gets its answer here.
func (m *mounted) checkBodySize(w http.ResponseWriter, r *http.Request) bool {
	most := m.router.server.settings.Limits.MaxBodyBytes
	if r.ContentLength <= most {
		return true
	}
	w.Header().Set("Connection", "close")
	refuseRequest(w, r, m.writer, &Error{
		Status: http.StatusRequestEntityTooLarge, Code: "too_large",
		Message: fmt.Sprintf("the body has %d bytes; at most %d are allowed", r.ContentLength, most),
	})
	return false
}

// authorizeRequest returns who asks, which is nobody where a credential is not needed, or
// why the request is refused.
func (m *mounted) authorizeRequest(w http.ResponseWriter, r *http.Request, x *exchange) (*Principal, *Error) {
	principal, err := m.router.server.settings.Authenticator.Authenticate(r)
	if err != nil {
		if m.Public && !errors.Is(err, ErrForeignSite) {
			return nil, nil
		}
		x.problem = err.Error()
	}
	bad, isBad := errors.AsType[*CredentialError](err)
	switch {
	case isBad:
		x.keyID = bad.KeyID
		w.Header().Set("WWW-Authenticate", bad.Challenge())
		message := "the credential is not good"
		if bad.Missing {
			message = "a credential is needed: an API key, as bearer token or in X-API-Key"
		}
		return nil, &Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: message}
	case errors.Is(err, ErrForeignSite):
		return nil, &Error{Status: http.StatusForbidden, Code: "forbidden", Message: "the pages of other sites may not use this server"}
	case err != nil || principal == nil:
		w.Header().Set("Retry-After", formatSeconds(time.Second))
		return nil, &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "the credential cannot be checked now"}
	case !principal.Caller.HasScope(m.Scope) && !m.Public:
		x.keyID, x.problem = principal.KeyID, "the credential lacks the scope "+m.Scope
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, m.Scope))
		return nil, &Error{Status: http.StatusForbidden, Code: "insufficient_scope", Message: "the credential lacks the scope " + m.Scope, Scope: m.Scope}
	default:
		return principal, nil
	}
}

// SetRetryAfter says when to ask again, in the answer to whoever asks for too much,
// which is an error of Enter.
func SetRetryAfter(w http.ResponseWriter, err error) {
	if limited, ok := errors.AsType[*RateError](err); ok {
		w.Header().Set("Retry-After", formatSeconds(limited.RetryAfter))
	}
}

// formatSeconds writes a time to wait, in whole seconds.
func formatSeconds(d time.Duration) string {
	return fmt.Sprint(int64((d + time.Second - 1) / time.Second))
}
