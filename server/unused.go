package server

import (
	"net"
	"net/http"
	"sync"
)

// unusedConns are the connections without any request so far, which clients and proxies open in
// advance. On shutdown an http.Server waits for each of them until it is five seconds old.
type unusedConns struct {
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// noteState is the ConnState hook of the http.Server.
func (u *unusedConns) noteState(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	closed := u.closed
	switch {
	case state != http.StateNew:
		delete(u.conns, c)
	case !closed:
		if u.conns == nil {
			u.conns = make(map[net.Conn]struct{})
		}
		u.conns[c] = struct{}{}
	}
	u.mu.Unlock()
	if closed && state == http.StateNew {
		_ = c.Close()
	}
}

// close closes them and any connections still being opened.
func (u *unusedConns) close() {
	u.mu.Lock()
	conns := u.conns
	u.conns, u.closed = nil, true
	u.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}
