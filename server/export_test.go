package server

import (
	"net"
	"net/http"
)

// OpenEventStream begins a response of server-sent events.
var OpenEventStream = openEventStream

// ListenOn makes a test's listener the server's.
func (s *Server) ListenOn(l net.Listener) { s.listener = l }

// ServeHTTP answers a request without a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// Allowances returns of how many credentials the requests are counted.
func (s *Server) Allowances() int {
	l := s.router.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}
