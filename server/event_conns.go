package server

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// eventConns are the connections of event streams that were taken from net/http:
// http.Server.Shutdown does not wait for them. It is the listener, too, through
// which net/http gets them back for further requests.
type eventConns struct {
	http *http.Server

	mu    sync.Mutex
	conns map[*eventConn]struct{}
	// cut tells that streams that are left are cut short.
	cut bool
	// streams counts them.
	streams requestCount

	// back are connections for net/http, until closed is.
	back      chan net.Conn
	closed    chan struct{}
	serveOnce sync.Once
	closeOnce sync.Once
	serving   sync.WaitGroup
}

func newEventConns(s *http.Server) *eventConns {
	return &eventConns{http: s, conns: map[*eventConn]struct{}{}, back: make(chan net.Conn), closed: make(chan struct{})}
}

// hijackConn takes the connection of a response, whose header was sent, from net/http. It
// returns nil when there is none: in HTTP/2 requests share it, and before HTTP/1.1
// there are no chunks. A request with a body that was not read to its end, of which
// net/http may have read a part, keeps it, too, and so does one that came to a server of
// the program's own.
func (e *eventConns) hijackConn(w http.ResponseWriter, r *http.Request) *eventConn {
	if r.Context().Value(http.ServerContextKey) != e.http {
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost || !bodyEnded(r) || r.ProtoMajor != 1 || r.ProtoMinor < 1 {
		return nil
	}
	// It is known before it is taken, because from then on net/http does not wait.
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

// endStream ends the stream of a connection, on which another request may come.
func (e *eventConns) endStream(c *eventConn, reusable bool) {
	if !reusable || !e.giveBack(c.Conn) {
		_ = c.Close()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgetConn(c)
}

// giveBack gives a connection to net/http, unless the server takes no more requests.
// To net/http it is a new one: the next request has ReadHeaderTimeout to come.
func (e *eventConns) giveBack(c net.Conn) bool {
	select {
	case <-e.closed:
		return false
	default:
	}
	e.serveOnce.Do(func() { e.serving.Go(func() { _ = e.http.Serve(e) }) }) // it ends with the server
	_ = c.SetDeadline(time.Time{})                                          // a connection that is closed fails to be read
	select {
	case e.back <- c:
		return true
	case <-e.closed:
		return false
	}
}

// cutShort closes the connections of the streams that are left, and of those that
// still begin.
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

// Close has the connections of streams that end closed.
func (e *eventConns) Close() error {
	e.closeOnce.Do(func() { close(e.closed) })
	return nil
}

// Addr is unknown, and not asked for.
func (*eventConns) Addr() net.Addr { return &net.TCPAddr{} }
