package openai

import (
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"
)

// sharedTransport carries the requests of every executor. A reload makes new
// executors; one transport lets them keep the connections that are open.
var sharedTransport http.RoundTripper = newTransport()

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// headerTimeout is how long a server may take to begin its answer. Local
	// servers read the whole prompt first.
	headerTimeout = 5 * time.Minute
	idleTimeout   = 90 * time.Second
	// pingAfter and pingTimeout find HTTP/2 connections that died silently.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// newTransport returns a transport for streams: there is no limit on how long
// an answer takes, which is the context's to decide.
func newTransport() *http.Transport {
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

func newHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport,
		// A redirect would carry the key to wherever the answer points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errorBodyLimit is how much of a refusal is read.
const errorBodyLimit = 64 << 10

// checkResponse turns every answer that is no stream into an error, ahead of
// the SDK: the SDK reads the body of a refusal without limit, and its error
// keeps the request with its headers.
func (e *Executor) checkResponse(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < http.StatusMultipleChoices && !isDocument(res.Header) {
		return res, nil
	}
	// What can be read of the body is good enough for a message.
	body, _ := io.ReadAll(io.LimitReader(res.Body, errorBodyLimit))
	_ = res.Body.Close()
	return nil, e.refused(res, body)
}

// isDocument reports whether an answer is a whole document, as the error pages
// of gateways are, that come with a status of success.
func isDocument(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (media == "application/json" || media == "text/html")
}
