package server

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Handler returns the server as a handler, for a program that has an http.Server of
// its own. It takes the place of Listen: everything is mounted before it is called,
// Serve is needed only for surfaces that listen by themselves, and Shutdown, which is
// called before that of the http.Server, ends streams and waits for requests.
//
// Settings.PublicURL says where clients find the server. Under a prefix, which
// http.StripPrefix takes off, PublicURL ends with it. The time limits for headers and
// idle connections are those of the http.Server. Without an Authenticator, and
// without AllowUnauthenticated, requests are answered that came to a loopback address,
// and all others get 403.
func (s *Server) Handler() http.Handler {
	s.EndStartup()
	return http.HandlerFunc(s.serveMounted)
}

// serveMounted answers a request that somebody else's server took in.
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

// arrivedOnLoopback reports whether only this machine could have sent a request.
func arrivedOnLoopback(r *http.Request) bool {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(a)
}

// requestCount counts the requests under way that http.Server.Shutdown does not wait
// for.
type requestCount struct {
	mu    sync.Mutex
	count int
	// closed tells that no more begin, and drained is closed when none is left.
	closed  bool
	drained chan struct{}
}

// beginRequest reports whether another request may be answered; end ends it.
func (c *requestCount) beginRequest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.count++
	return true
}

func (c *requestCount) endRequest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count--; c.count == 0 && c.drained != nil {
		close(c.drained)
		c.drained = nil
	}
}

// drain lets no more requests begin and waits until none is left, or ctx ends.
func (c *requestCount) drain(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.wait(ctx)
}

// wait waits until no requests are left, or ctx ends.
func (c *requestCount) wait(ctx context.Context) error {
	c.mu.Lock()
	if c.count == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.drained == nil {
		c.drained = make(chan struct{})
	}
	drained := c.drained
	c.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
