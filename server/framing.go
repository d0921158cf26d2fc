package server

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
)

// framingListener wraps its connections in a framedConn.
type framingListener struct{ net.Listener }

// Accept waits for the next connection.
func (l framingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: c}, nil
}

// maxFramingLine is how many bytes of a header line are inspected: more than any header that frames
// a body.
const maxFramingLine = 128

// framedConn reads along with net/http and detects requests that have both a Content-Length and a
// Transfer-Encoding. A proxy and the server may disagree about the end of such a request, so a
// second one can be smuggled in it. net/http uses the encoding and drops the length, so a handler
// cannot see it.
//
// It finds the headers by the lengths of the bodies between them. It does not parse chunks: a
// request with a transfer encoding is the last one of its connection.
type framedConn struct {
	net.Conn

	// ambiguous is set once a request has both headers, and last once no other
	// request may follow on the connection. Neither is ever cleared.
	ambiguous, last atomic.Bool

	// The other fields are used only by the reading goroutine.

	// body is the number of bytes left of the current body; 0 in a header.
	body uint64
	// line is the beginning of the current line.
	line   []byte
	header framingHeader
}

// framingHeader is the state of a header that is being read.
type framingHeader struct {
	// begun is set after the request line.
	begun bool
	// coded is set if the header has a transfer encoding, and sized if it has a Content-Length;
	// length is its value.
	coded, sized bool
	length       uint64
}

// Read reads from the connection and scans the bytes.
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

// endLine parses a line of a header, or the empty line that ends it.
func (c *framedConn) endLine() {
	line := bytes.TrimSuffix(c.line, []byte{'\r'})
	c.line = c.line[:0]
	switch name, value, _ := bytes.Cut(line, []byte{':'}); {
	case len(line) == 0 && c.header.begun:
		c.endHeader()
	case len(line) == 0: // net/http skips empty lines between requests
	case !c.header.begun:
		c.header.begun = true
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		c.header.coded = true
	case bytes.EqualFold(name, []byte("Content-Length")):
		length, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
		if err != nil || c.header.sized && length != c.header.length {
			c.markAmbiguous() // net/http refuses it, too, unless the line was cut off
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

// CloseWrite closes the write side if the connection supports it: net/http calls it before closing
// a connection on which the client may still write.
func (c *framedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// watchOf returns the framedConn of a connection, or nil.
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

// withFraming returns the context of a connection with its framedConn.
func withFraming(ctx context.Context, c net.Conn) context.Context {
	if framed := watchOf(c); framed != nil {
		return context.WithValue(ctx, framedConnKey{}, framed)
	}
	return ctx
}

// checkFraming reports whether the end of the request is unambiguous. If no request
// may follow, the connection is closed after the response.
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
