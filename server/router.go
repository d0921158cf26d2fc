package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// router finds the route of a request, and authorizes the request.
type router struct {
	server  *Server
	mux     *http.ServeMux
	cors    *cors
	limiter *limiter
	metrics *metrics
	// routes are the mounted routes, in order.
	routes []*mounted
	// roots are the common paths of each surface's routes; startRoots apply until all surfaces are
	// mounted.
	roots, startRoots []surfaceRoot
}

// surfaceRoot is the common path of a surface's routes, with a trailing slash.
type surfaceRoot struct {
	path   string
	writer ErrorWriter
}

// mounted is a route of a server.
type mounted struct {
	Route
	router *router
	// writer writes errors in the format of the surface, or is nil.
	writer ErrorWriter
	// failures writes errors of handlers, or is nil.
	failures FailureWriter
}

// maxLoggedPath is the size in bytes at which the log cuts paths. Routes with ids of usual length
// are shorter.
const maxLoggedPath = 512

func newRouter(s *Server, m *metrics) *router {
	return &router{
		server: s, mux: http.NewServeMux(), cors: newCORS(s.settings.CORSOrigins),
		limiter: newLimiter(s.settings.Rate, s.settings.Clock), metrics: m,
	}
}

// addRoute adds a route of a surface.
func (rt *router) addRoute(surface Surface, route Route) (err error) {
	defer panics.Handle(func(p *panics.Error) { // a ServeMux panics on a bad pattern
		err = fmt.Errorf("mount %q: %v", route.Pattern, p.Value)
	})
	m := &mounted{Route: route, router: rt}
	m.writer, _ = surface.(ErrorWriter)
	m.failures, _ = surface.(FailureWriter)
	rt.mux.Handle(route.Pattern, m)
	if route.Also != "" {
		rt.mux.Handle(route.Also, m)
	}
	rt.routes = append(rt.routes, m)
	return nil
}

// addRoot records the common path of a surface's routes, unless they have none or the surface has
// no error format.
func (rt *router) addRoot(surface Surface, routes []Route) {
	writer, ok := surface.(ErrorWriter)
	if !ok || len(routes) == 0 {
		return
	}
	root := fixedPath(routes[0].Pattern)
	root = root[:strings.LastIndexByte(root, '/')+1]
	for i := range routes {
		for path := fixedPath(routes[i].Pattern); !strings.HasPrefix(path, root); {
			root = root[:strings.LastIndexByte(root[:len(root)-1], '/')+1]
		}
	}
	if root != "/" {
		rt.roots = append(rt.roots, surfaceRoot{root, writer})
	}
}

// fixedPath returns the path of a pattern up to its first wildcard.
func fixedPath(pattern string) string {
	fixed, _, _ := strings.Cut(pattern[strings.IndexByte(pattern, '/'):], "{")
	return fixed
}

// ServeHTTP answers and logs a request.
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
		rt.endExchange(out, r, x, recover())
		if x.aborted {
			panic(http.ErrAbortHandler) // the only way to close a connection in the middle of a response
		}
		if !out.flushed {
			readUnread(r)
		}
		out.setFinalDeadlines()
	}()
	if r := rt.acceptRequest(out, r); r != nil {
		rt.mux.ServeHTTP(out, r)
	}
}

// acceptRequest returns the request for the mux, or nil if it was answered.
func (rt *router) acceptRequest(out *response, r *http.Request) *http.Request {
	if !checkFraming(out, r) {
		refuseRequest(out, r, rt.nearestErrorWriter(r.URL.Path), &Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: "the request has both a Content-Length and a Transfer-Encoding"})
		return nil
	}
	if rt.cors.addHeaders(out, r) {
		return nil
	}
	if rt.server.starting.Load() && !isProbe(r.URL.Path) && !rt.server.awaitStartup(r) {
		refuseRequest(out, r, rt.nearestErrorWriter(r.URL.Path), &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "the server is starting"})
		return nil
	}
	r = oneSlash(r)
	handler, pattern := rt.mux.Handler(r)
	if pattern == "" {
		rt.answerUnrouted(out, r, handler)
		return nil
	}
	return r
}

// oneSlash returns a request without repeated slashes in its path, which come from clients that
// concatenate URLs. A mux would redirect, which many clients do not follow.
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

// endExchange finishes a response. cause is the result of recover.
func (rt *router) endExchange(w *response, r *http.Request, x *exchange, cause any) {
	if x.leave != nil {
		x.leave()
	}
	rt.handlePanic(w, r, x, cause)
	rt.metrics.endRequest(r.Context(), r, x, w, rt.server.settings.Clock().Sub(x.began))
	rt.logRequest(r, x, w)
	rt.logAudit(r, x, w)
}

// answerUnrouted answers a request that matches no route, in the error format of the surface with
// the nearest path. The handler comes from the mux, which knows whether another method matches.
func (rt *router) answerUnrouted(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	verdict, writer := &statusRecorder{header: http.Header{}}, rt.nearestErrorWriter(r.URL.Path)
	handler.ServeHTTP(verdict, r)
	if verdict.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", verdict.header.Get("Allow"))
		refuseRequest(w, r, writer, &Error{Status: verdict.status, Code: "method_not_allowed", Message: "the method " + knownMethod(r.Method) + " is not allowed here"})
		return
	}
	refuseRequest(w, r, writer, &Error{Status: http.StatusNotFound, Code: "not_found", Message: "no such route"})
}

// nearestErrorWriter returns the ErrorWriter of the surface whose route shares the longest prefix
// with a path, up to the first wildcard, or otherwise of the surface whose root contains the path.
// It is nil for the server's own format.
func (rt *router) nearestErrorWriter(path string) (writer ErrorWriter) {
	if rt.server.starting.Load() { // routes may still be added
		return writerBelow(rt.startRoots, path+"/")
	}
	most := len("/")
	for _, m := range rt.routes {
		fixed := fixedPath(m.Pattern)
		if len(fixed) > most && (path == fixed || strings.HasSuffix(fixed, "/") && strings.HasPrefix(path, fixed)) {
			most, writer = len(fixed), m.writer
		}
	}
	if most > len("/") {
		return writer
	}
	return writerBelow(rt.roots, path)
}

// writerBelow returns the writer of the longest root that contains a path; nil if no root matches.
func writerBelow(roots []surfaceRoot, path string) (writer ErrorWriter) {
	most := len("/")
	for _, root := range roots {
		if len(root.path) > most && strings.HasPrefix(path, root.path) {
			most, writer = len(root.path), root.writer
		}
	}
	return writer
}

// statusRecorder records the status of a response and drops the rest.
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

// handlePanic converts a panic of a handler to an internal error. Once a response
// has begun, only closing the connection shows that it is incomplete.
func (rt *router) handlePanic(w *response, r *http.Request, x *exchange, cause any) {
	if cause == nil {
		return
	}
	if err, ok := cause.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		rt.server.settings.Logger.Error("handler panicked", zap.String("request_id", x.id), zap.String("route", x.routePath()),
			zap.Any("panic", cause), zap.Stack("stack"))
		if w.status == 0 {
			var writer ErrorWriter
			if x.mounted != nil {
				writer = x.mounted.writer
			}
			refuseRequest(w, r, writer, &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "internal error; see the server log"})
			return
		}
	}
	x.aborted = true
}

// ServeHTTP handles a request that matches the route, if the caller is allowed to make it.
func (m *mounted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r = m.admitRequest(w, r); r == nil {
		return
	}
	if !m.Stream {
		m.Handler.ServeHTTP(w, r)
		return
	}
	ctx, end := m.router.server.streamContext(r.Context())
	defer end()
	defer noteDisconnect(ctx, w)
	m.Handler.ServeHTTP(w, r.WithContext(ctx))
}

// admitRequest returns the request for the handler, or nil if it was rejected.
func (m *mounted) admitRequest(w http.ResponseWriter, r *http.Request) *http.Request {
	s := m.router.server
	x := exchangeFrom(r.Context())
	x.mounted, x.operation = m, m.Audit
	principal, refusal := m.authorizeRequest(w, r, x)
	if refusal != nil {
		refuseRequest(w, r, m.writer, refusal)
		return nil
	}
	if principal != nil {
		x.principal = principal
		leave := m.beginRequest(w, r, principal)
		if leave == nil {
			return nil
		}
		x.leave = leave
		// Authenticated callers may set the trace of the request.
		r = r.WithContext(WithPrincipal(telemetry.Extract(r.Context(), r.Header), principal))
	}
	if m.Begins && s.draining.Load() {
		refuseRequest(w, r, m.writer, &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: ErrDraining.Error()})
		return nil
	}
	if !m.checkBodySize(w, r) {
		return nil
	}
	if err := checkContentCoding(w, r); err != nil {
		writeFailure(w, r, err)
		return nil
	}
	if err := m.checkQuery(r.URL.RawQuery); err != nil {
		writeFailure(w, r, err)
		return nil
	}
	r.Body = limitBody(w, r.Body, s.settings.Limits)
	return r
}

// beginRequest counts a principal's request until leave is called. If the limits are exceeded, it
// rejects the request and returns nil.
func (m *mounted) beginRequest(w http.ResponseWriter, r *http.Request, p *Principal) (leave func()) {
	leave, err := m.router.server.Enter(p)
	if err != nil {
		SetRetryAfter(w, err)
		refuseRequest(w, r, m.writer, &Error{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: err.Error()})
	}
	return leave
}

// checkBodySize reports whether the announced size of the body is within the limit. Otherwise it
// rejects the request.
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

// authorizeRequest returns the principal, which is nil on a public route without a credential, or
// the reason for a rejection.
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
		w.Header().Set("WWW-Authenticate", bad.challenge())
		message := "the credential is not valid"
		if bad.Missing {
			message = "a credential is needed: an API key, as bearer token or in X-API-Key"
		}
		return nil, &Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: message}
	case errors.Is(err, ErrForeignSite):
		return nil, &Error{Status: http.StatusForbidden, Code: "forbidden", Message: "requests from the pages of other sites are not allowed"}
	case err != nil || principal == nil:
		return nil, &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "the credential cannot be checked now"}
	case !principal.Caller.HasScope(m.Scope) && !m.Public:
		x.keyID, x.problem = principal.KeyID, "the credential lacks the scope "+m.Scope
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, m.Scope))
		return nil, &Error{Status: http.StatusForbidden, Code: "insufficient_scope", Message: "the credential lacks the scope " + m.Scope, Scope: m.Scope}
	default:
		return principal, nil
	}
}

// logRequest logs a request, without its query and headers, which may contain
// secrets.
func (rt *router) logRequest(r *http.Request, x *exchange, w *response) {
	level := zapcore.InfoLevel
	if x.mounted != nil && x.mounted.Quiet && w.status < http.StatusBadRequest {
		level = zapcore.DebugLevel
	}
	entry := rt.server.settings.Logger.Check(level, "request")
	if entry == nil {
		return
	}
	keyID := x.keyID
	if x.principal != nil {
		keyID = x.principal.KeyID
	}
	fields := []zap.Field{
		zap.String("request_id", x.id), zap.String("method", knownMethod(r.Method)), zap.String("path", clip.At(maxLoggedPath, r.URL.Path)),
		zap.Int("status", cmp.Or(w.status, http.StatusOK)), zap.Int64("bytes", w.bytes),
		zap.Duration("duration", rt.server.settings.Clock().Sub(x.began)), zap.String("client", ClientOf(r)),
	}
	if keyID != "" {
		fields = append(fields, zap.String("key_id", keyID))
	}
	if x.problem != "" {
		fields = append(fields, zap.String("problem", x.problem))
	}
	if x.aborted || w.err != nil {
		fields = append(fields, zap.Bool("cut_short", true))
	}
	entry.Write(fields...)
}
