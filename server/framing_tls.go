package server

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"
)

// framedTLSConn is a framedConn over TLS, from which net/http takes Request.TLS.
type framedTLSConn struct {
	*framedConn
	tls *tls.Conn
}

// ConnectionState returns what was agreed on with the client.
func (c *framedTLSConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// handshaker is a listener of TLS. Its connections come after their handshake, when
// it is known what they speak: those of HTTP/1 are watched for how requests are
// framed, and those of HTTP/2, which net/http knows by their type, are not. It does
// each handshake in a goroutine of its own, as net/http does.
type handshaker struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration

	begin sync.Once
	ready chan net.Conn
	errs  chan error
	// closing ends when the listener closes, and working waits for what it began.
	closing context.Context
	close   context.CancelFunc
	working sync.WaitGroup
}

// newHandshaker returns a listener of TLS over l. A handshake may take as long as
// timeout; 0 is without end.
func newHandshaker(l net.Listener, config *tls.Config, timeout time.Duration) *handshaker {
	h := &handshaker{Listener: l, config: config, timeout: timeout, ready: make(chan net.Conn), errs: make(chan error)}
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// Accept waits for the next connection that is ready.
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

// acceptAll begins a handshake with all who come. Errors go to Accept, whose caller
// decides whether to go on.
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

// shakeHands makes a connection ready. One whose handshake fails is handed on as
// well: net/http says why, and closes it.
func (h *handshaker) shakeHands(raw net.Conn) {
	c := tls.Server(raw, h.config)
	if h.timeout > 0 {
		_ = raw.SetDeadline(time.Now().Add(h.timeout)) // a connection that is closed fails below
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

// The protocols of HTTP over TLS.
const (
	http1Protocol = "http/1.1"
	http2Protocol = "h2"
)

// withHTTP returns a configuration of TLS that offers both protocols; nil for nil.
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
