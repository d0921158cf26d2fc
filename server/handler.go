package server

import (
	"context"
	"net"
	"net/http"
)

// Handler returns the server as a handler for a program with its own http.Server. Use it instead
// of Listen: mount everything first, call Serve only for surfaces with their own listener, and
// call Shutdown before the http.Server's: it ends streams and waits for requests.
//
// Settings.PublicURL is the server's URL as clients see it, including a prefix removed by
// http.StripPrefix. The http.Server sets the timeouts for headers and idle connections. Without
// an Authenticator and AllowUnauthenticated, requests to non-loopback addresses get 403.
func (s *Server) Handler() http.Handler {
	s.EndStartup()
	return http.HandlerFunc(s.serveMounted)
}

// serveMounted answers a request that arrived through Handler.
func (s *Server) serveMounted(w http.ResponseWriter, r *http.Request) {
	if !s.mounted.beginRequest() {
		w.Header().Set("Connection", "close")
		http.Error(w, ErrDraining.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.mounted.endRequest()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	unlink := context.AfterFunc(s.requests, func() { cancel(context.Cause(s.requests)) })
	defer unlink()
	r = r.WithContext(ctx)
	if s.open && !s.settings.AllowUnauthenticated && !arrivedOnLoopback(r) {
		refuseRequest(w, r, s.router.nearestErrorWriter(r.URL.Path), &Error{Status: http.StatusForbidden, Code: "forbidden", Message: ErrUnauthenticated.Error()})
		return
	}
	s.router.ServeHTTP(w, r)
}

// arrivedOnLoopback reports whether a request arrived at a loopback address.
func arrivedOnLoopback(r *http.Request) bool {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(a)
}
