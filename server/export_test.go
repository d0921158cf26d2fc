package server

import (
	"net"
	"net/http"
)

// ListenOn makes a test's listener the server's.
func (s *Server) ListenOn(l net.Listener) { s.listener = l }

// ServeHTTP answers a request without a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }
