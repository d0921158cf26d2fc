package server

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
)

// framingListener gives its connections a watch over how requests are framed.
type framingListener struct{ net.Listener }

// Accept waits for the next connection.
func (l framingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: c}, nil
}

// maxFramingLine is how much of a line of a header is looked at, in bytes: more than
// the names and values of those that frame a body have.
const maxFramingLine = 128

// framedConn reads along with net/http and notes requests that have both a
// Content-Length and a Transfer-Encoding. A proxy and the server may disagree about
// where such a request ends, so that a second one can be hidden in it. net/http
// takes the coding and drops the length, so that a handler cannot see it.
//
// It goes from header to header by the lengths of the bodies between them. It does
// not read chunks: a request with a coding is the last one of its connection.
type framedConn struct {
	net.Conn

	// ambiguous tells that a request has both; last that no request may follow the
	// one that is answered. Both stay as they are once they are set.
	ambiguous, last atomic.Bool

	// The rest is used by whoever reads, one at a time.

	// body is what is left of the body that is being read; 0 in a header.
	body uint64
	// line is the beginning of the line that is being read.
	line   []byte
	header framingHeader
}

// framingHeader is what was read of a header.
type framingHeader struct {
	// begun tells that the request line was read.
	begun bool
	// coded tells that the header has a coding, and length is its Content-Length,
	// which sized tells to be there.
	coded, sized bool
	length       uint64
}

// Read reads on and looks at what was read.
func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.scanRequests(p[:n])
	return n, err
}

func (c *framedConn) scanRequests(p []byte) {
	for len(p) > 0 && !c.last.Load() {
		if c.body > 0 {
			n := min(c.body, uint64(len(p)))
			c.body -= n
			p = p[n:]
			continue
		}
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		c.line = append(c.line, line[:min(len(line), maxFramingLine-len(c.line))]...)
		if !whole {
			return
		}
		c.endLine()
		p = rest
	}
}

// endLine takes in a line of a header, or the empty one that ends it.
func (c *framedConn) endLine() {
	line := bytes.TrimSuffix(c.line, []byte{'\r'})
	c.line = c.line[:0]
	switch name, value, _ := bytes.Cut(line, []byte{':'}); {
	case len(line) == 0 && c.header.begun:
		c.endHeader()
	case len(line) == 0: // net/http passes over empty lines between requests
	case !c.header.begun:
		c.header.begun = true
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		c.header.coded = true
	case bytes.EqualFold(name, []byte("Content-Length")):
		length, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
		if err != nil || c.header.sized && length != c.header.length {
			c.markAmbiguous() // net/http refuses it, too, but for one that is too long to look at
		}
		c.header.sized, c.header.length = true, length
	}
}

func (c *framedConn) endHeader() {
	switch {
	case c.header.coded && c.header.sized:
		c.markAmbiguous()
	case c.header.coded:
		c.last.Store(true)
	}
	c.body, c.header = c.header.length, framingHeader{}
}

func (c *framedConn) markAmbiguous() {
	c.ambiguous.Store(true)
	c.last.Store(true)
}

// CloseWrite ends what is written, as far as the connection can: net/http does so
// before it closes one on which the client may still write.
func (c *framedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// watchOf returns the watch over a connection; nil when there is none.
func watchOf(c net.Conn) *framedConn {
	switch c := c.(type) {
	case *framedConn:
		return c
	case *framedTLSConn:
		return c.framedConn
	default:
		return nil
	}
}

type framedConnKey struct{}

// withFraming returns the context of a connection with its watch in it.
func withFraming(ctx context.Context, c net.Conn) context.Context {
	if framed := watchOf(c); framed != nil {
		return context.WithValue(ctx, framedConnKey{}, framed)
	}
	return ctx
}

// checkFraming reports whether it is clear where a request ends. It ends the connection
// with the response where nothing may follow.
func checkFraming(w http.ResponseWriter, r *http.Request) bool {
	c, ok := r.Context().Value(framedConnKey{}).(*framedConn)
	if !ok {
		return true
	}
	if c.last.Load() {
		w.Header().Set("Connection", "close")
	}
	return !c.ambiguous.Load()
}
