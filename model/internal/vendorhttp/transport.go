// Package vendorhttp has the common parts of executors that use HTTP: the transport, checks of
// settings, limits on responses, errors, and cached tools.
package vendorhttp

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// headerTimeout is how long a server may take to begin its answer. Local
	// servers read the whole prompt first.
	headerTimeout = 5 * time.Minute
	idleTimeout   = 90 * time.Second
	// pingAfter and pingTimeout detect HTTP/2 connections that died silently.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// SharedTransport returns the transport of every executor. A reload creates new executors; one
// transport keeps their connections open.
var SharedTransport = sync.OnceValue(func() http.RoundTripper { return NewTransport() })

// NewTransport returns a transport for streams. It does not limit the duration of a response; the
// context does.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		TLSHandshakeTimeout:   handshakeTimeout,
		ResponseHeaderTimeout: headerTimeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		// Compressing a stream of small events only delays them.
		DisableCompression: true,
	}
}

// newClient returns a client that does not follow redirects, which would carry the key to another
// server.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
