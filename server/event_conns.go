package server

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// eventConns are the event stream connections hijacked from net/http: http.Server.Shutdown does not
// wait for them. It is also the listener that hands them back to net/http for further requests.
type eventConns struct {
	http *http.Server

	mu    sync.Mutex
	conns map[*eventConn]struct{}
	// cut is set when the remaining streams are cut short, served once net/http accepts connections
	// from here, and ended when it stops accepting them.
	cut, served, ended bool
	// streams counts the open streams.
	streams requestCount

	// back hands connections to net/http until closed is closed.
	back    chan net.Conn
	closed  chan struct{}
	serving sync.WaitGroup
}

func newEventConns(s *http.Server) *eventConns {
	return &eventConns{http: s, conns: map[*eventConn]struct{}{}, back: make(chan net.Conn), closed: make(chan struct{})}
}

// hijackConn takes over from net/http the connection of a response whose header was sent. It
// returns nil if that is not possible: HTTP/2 requests share a connection, HTTP/1.0 has no chunks,
// net/http may have buffered part of an unread body, and the request may belong to another
// http.Server of the program.
func (e *eventConns) hijackConn(w http.ResponseWriter, r *http.Request) *eventConn {
	if r.Context().Value(http.ServerContextKey) != e.http {
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost || !bodyEnded(r) || r.ProtoMajor != 1 || r.ProtoMinor < 1 {
		return nil
	}
	// Register it before hijacking: after that, net/http does not wait for it.
	c := &eventConn{owner: e}
	e.mu.Lock()
	e.conns[c] = struct{}{}
	e.streams.beginRequest()
	e.mu.Unlock()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	e.mu.Lock()
	cut := e.cut
	if err != nil {
		e.forgetConn(c)
		c = nil
	} else {
		c.Conn, c.unasked = conn, conn
		if watched := watchOf(conn); watched != nil {
			c.unasked = watched.Conn
		}
		c.reusable = !r.Close && buffered.Reader.Buffered() == 0
	}
	e.mu.Unlock()
	if err == nil && cut {
		_ = conn.Close()
	}
	return c
}

// forgetConn drops a connection. The caller holds the lock.
func (e *eventConns) forgetConn(c *eventConn) {
	if _, known := e.conns[c]; known {
		delete(e.conns, c)
		e.streams.endRequest()
	}
}

// endStream ends the stream of a connection and gives it back if it is reusable.
func (e *eventConns) endStream(c *eventConn, reusable bool) {
	if !reusable || !e.giveBack(c.Conn) {
		_ = c.Close()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgetConn(c)
}

// giveBack hands a connection to net/http unless the server accepts no more requests. net/http
// treats it as new: the next request must arrive within ReadHeaderTimeout.
func (e *eventConns) giveBack(c net.Conn) bool {
	if !e.beginServing() {
		return false
	}
	_ = c.SetDeadline(time.Time{}) // fails if closed; so does the read
	select {
	case e.back <- c:
		return true
	case <-e.closed:
		return false
	}
}

// beginServing lets net/http accept connections from here unless it has stopped accepting.
func (e *eventConns) beginServing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return false
	}
	if !e.served {
		e.served = true
		e.serving.Go(func() { _ = e.http.Serve(e) }) // it ends with the server
	}
	return true
}

// cutShort closes the connections of the remaining streams, including those that are still
// starting.
func (e *eventConns) cutShort() {
	e.mu.Lock()
	e.cut = true
	var left []net.Conn
	for c := range e.conns {
		if c.Conn != nil {
			left = append(left, c.Conn)
		}
	}
	e.mu.Unlock()
	for _, c := range left {
		_ = c.Close()
	}
}

// Accept returns a connection that was given back.
func (e *eventConns) Accept() (net.Conn, error) {
	select {
	case c := <-e.back:
		return c, nil
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

// Close stops giving connections back: from now on they are closed with their
// stream.
func (e *eventConns) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.ended = true
		close(e.closed)
	}
	return nil
}

// Addr returns a placeholder, since the address is never used.
func (*eventConns) Addr() net.Addr { return &net.TCPAddr{} }
