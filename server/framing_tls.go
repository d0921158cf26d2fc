package server

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"
)

// framedTLSConn is a framedConn over TLS. net/http gets Request.TLS from it.
type framedTLSConn struct {
	*framedConn
	tls *tls.Conn
}

// ConnectionState returns the state of the TLS connection.
func (c *framedTLSConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// handshaker is a TLS listener. It returns connections after their handshake, when the protocol is
// known: the framing of HTTP/1 requests is checked, and HTTP/2 connections, which net/http
// recognizes by type, are returned unwrapped. Each handshake runs in its own goroutine, as in
// net/http.
type handshaker struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration

	begin sync.Once
	ready chan net.Conn
	errs  chan error
	// closing ends when the listener closes, and working waits for its goroutines.
	closing context.Context
	close   context.CancelFunc
	working sync.WaitGroup
}

// newHandshaker returns a TLS listener over l. timeout limits a handshake; 0 means
// no limit.
func newHandshaker(l net.Listener, config *tls.Config, timeout time.Duration) *handshaker {
	h := &handshaker{Listener: l, config: config, timeout: timeout, ready: make(chan net.Conn), errs: make(chan error)}
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// Accept waits for the next ready connection.
func (h *handshaker) Accept() (net.Conn, error) {
	h.begin.Do(func() { h.working.Go(h.acceptAll) })
	select {
	case c := <-h.ready:
		return c, nil
	case err := <-h.errs:
		return nil, err
	case <-h.closing.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the listener and the connections that are not ready.
func (h *handshaker) Close() error {
	h.close()
	err := h.Listener.Close()
	h.working.Wait()
	return err
}

// acceptAll starts a handshake on every connection. Errors are returned by Accept, whose caller
// decides whether to continue.
func (h *handshaker) acceptAll() {
	for {
		c, err := h.Listener.Accept()
		if err == nil {
			h.working.Go(func() { h.shakeHands(c) })
			continue
		}
		select {
		case h.errs <- err:
		case <-h.closing.Done():
			return
		}
	}
}

// shakeHands makes a connection ready. If the handshake fails, the connection is
// returned as well: net/http logs the error and closes it.
func (h *handshaker) shakeHands(raw net.Conn) {
	c := tls.Server(raw, h.config)
	if h.timeout > 0 {
		_ = raw.SetDeadline(time.Now().Add(h.timeout)) // a closed connection fails below
	}
	var out net.Conn = c
	if c.HandshakeContext(h.closing) == nil {
		_ = raw.SetDeadline(time.Time{})
		if c.ConnectionState().NegotiatedProtocol != http2Protocol {
			out = &framedTLSConn{&framedConn{Conn: c}, c}
		}
	}
	select {
	case h.ready <- out:
	case <-h.closing.Done():
		_ = c.Close()
	}
}

// Protocols of HTTP over TLS.
const (
	http1Protocol = "http/1.1"
	http2Protocol = "h2"
)

// withHTTP returns a TLS configuration that offers both protocols; nil for nil.
func withHTTP(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.NextProtos = slices.Clone(config.NextProtos)
	for _, protocol := range []string{http2Protocol, http1Protocol} {
		if !slices.Contains(config.NextProtos, protocol) {
			config.NextProtos = append(config.NextProtos, protocol)
		}
	}
	return config
}
