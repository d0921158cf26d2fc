package native

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
)

const (
	// defaultPatience is how long a client retries to reach a server that it has reached before.
	defaultPatience = 2 * time.Minute
	// defaultSilence is how long a stream may be silent before the client considers the connection
	// lost: three keep-alives.
	defaultSilence = 3 * server.DefaultKeepAlive
)

// Limits of the client's reads, in bytes.
const (
	maxAnswer int64 = 32 << 20
	maxExport       = 256 << 20
	maxError        = 64 << 10
)

// ClientSettings configures a client. The URL is required.
type ClientSettings struct {
	// URL is the server's URL, including a path added by a proxy.
	URL string
	// Key is the API key or access token to send; empty sends none.
	Key string
	// Patience is how long to retry to reach a server that was reached before; 0 means two minutes.
	// Silence is how long a stream may be silent; 0 means three keep-alives.
	Patience time.Duration
	Silence  time.Duration
	// Broken is called each time the server cannot be reached and the client will retry, on the
	// goroutine that called the client; it may be nil.
	Broken func(error)
	// Transport carries the requests; nil means a transport like http.DefaultTransport.
	Transport http.RoundTripper

	_ struct{} // keyed literals only
}

// Client accesses a server's sessions, turns and events. It is safe for concurrent use.
//
// If a server that has answered before is unreachable or too busy, requests are retried until the
// Patience runs out; a server that never answered is not retried. Creating requests have a key, so
// that none is executed twice. The errors are an *Error for a server's error response, wrapping the
// service's error if there is one, and errors of net/http and ctx.
type Client struct {
	settings  ClientSettings
	base      *url.URL
	http      *http.Client
	reached   atomic.Bool
	transport *http.Transport
}

// NewClient returns a client without connecting to the server. It fails if the settings
// are invalid; the error does not repeat the key.
func NewClient(s ClientSettings) (*Client, error) {
	base, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the server cannot be read; it must be http:// or https:// and a host")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("the URL of the server is %q; it must be http:// or https:// and a host", redact.URL(s.URL))
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the URL of the server must have neither a user nor a query")
	case strings.ContainsFunc(s.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the key has characters that no key has")
	}
	s.Patience, s.Silence = cmp.Or(s.Patience, defaultPatience), cmp.Or(s.Silence, defaultSilence)
	if s.Broken == nil {
		s.Broken = func(error) {}
	}
	c := &Client{base: base}
	if s.Transport == nil {
		c.transport = newTransport()
		s.Transport = c.transport
	}
	c.settings = s
	c.http = &http.Client{Transport: s.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// headerTime is how long a server may take to begin its response.
const headerTime = time.Minute

func newTransport() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if known, ok := http.DefaultTransport.(*http.Transport); ok {
		t = known.Clone()
	}
	t.ResponseHeaderTimeout = headerTime
	return t
}

// Close closes idle connections.
func (c *Client) Close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// newGet returns a request that changes nothing.
func newGet(query url.Values, path ...string) *Request {
	return &Request{Method: http.MethodGet, Path: path, Query: query}
}

// newPost returns a request with a body that can be retried because of its key; an empty key means
// a new one.
func newPost(key string, body any, path ...string) *Request {
	if key == "" {
		key = uuid.Must(uuid.NewV7()).String()
	}
	return &Request{Method: http.MethodPost, Path: path, Body: body, Header: http.Header{surfacekit.IdempotencyHeader: {key}}}
}

// urlOf returns the URL of a request.
func (c *Client) urlOf(r *Request) *url.URL {
	escaped := make([]string, len(r.Path))
	for i, segment := range r.Path {
		escaped[i] = url.PathEscape(segment)
	}
	u, prefix := *c.base, cmp.Or(r.Prefix, Prefix)
	u.Path = strings.TrimRight(u.Path, "/") + prefix + "/" + strings.Join(r.Path, "/")
	u.RawPath = strings.TrimRight(c.base.EscapedPath(), "/") + prefix + "/" + strings.Join(escaped, "/")
	u.RawQuery = r.Query.Encode()
	return &u
}

// sendRetried sends a request with send, which gets the encoded body, and repeats that while it may
// help.
func (c *Client) sendRetried(ctx context.Context, r *Request, send func(body []byte) error) error {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
	}
	again := c.newPatience()
	for {
		err := send(body)
		if err == nil {
			return nil
		}
		if err = again.waitBeforeRetry(ctx, err); err != nil {
			return err
		}
	}
}

// sendOnce sends a request once.
func (c *Client) sendOnce(ctx context.Context, r *Request, body []byte, into any) error {
	resp, err := c.openResponse(ctx, r, body, "application/json")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	most := cmp.Or(r.most, maxAnswer)
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return c.connectionError(r, err)
	case int64(len(data)) > most:
		return c.answerError(r, resp, fmt.Sprintf("the answer has more than %d bytes", most))
	case resp.StatusCode == http.StatusNoContent && into == nil:
		return nil
	}
	err = json.Unmarshal(data, into)
	if answer, ok := into.(interface{ isWhole() bool }); err != nil || ok && !answer.isWhole() {
		return c.answerError(r, resp, "the answer is not the JSON that it should be")
	}
	return nil
}

// openResponse sends a request and returns the response if it is successful and has the wanted
// media type.
func (c *Client) openResponse(ctx context.Context, r *Request, body []byte, want string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, c.urlOf(r).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.Header)
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", want)
	req.Header.Set("User-Agent", "agentruntime")
	telemetry.Inject(ctx, req.Header)
	if c.settings.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.settings.Key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.connectionError(r, err)
	}
	c.reached.Store(true)
	if resp.StatusCode == http.StatusNoContent {
		return resp, nil
	}
	got, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices:
		defer resp.Body.Close()
		return nil, c.errorFromAnswer(r, resp, got)
	case err != nil || got != want:
		defer resp.Body.Close()
		return nil, c.answerError(r, resp, fmt.Sprintf("the answer is not %s: is this the server?", want))
	}
	return resp, nil
}

// patience limits how long a request is retried.
type patience struct {
	client *Client
	waits  backoff.BackOff
	// told is set once the caller has been notified.
	told bool
}

// The times between two attempts.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 5 * time.Second
)

func (c *Client) newPatience() *patience {
	return &patience{client: c, waits: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstWait), backoff.WithMaxInterval(maxWait), backoff.WithMaxElapsedTime(c.settings.Patience),
	)}
}

// resetWait resets the backoff after a success.
func (p *patience) resetWait() {
	p.waits.Reset()
	p.told = false
}

// waitBeforeRetry waits before another attempt after err. It returns nil if the caller should
// retry, and otherwise the error or the cause of ctx.
func (p *patience) waitBeforeRetry(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !isTemporary(err) || !p.client.reached.Load() {
		return err
	}
	pause := p.waits.NextBackOff()
	if pause == backoff.Stop {
		return err
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		pause = max(pause, min(refused.retryAfter, p.client.settings.Patience))
	}
	if !p.told {
		p.told = true
		p.client.settings.Broken(err)
	}
	return wait.For(ctx, pause)
}

// connectionError returns the error for a broken connection.
func (c *Client) connectionError(r *Request, err error) error {
	return &brokenError{method: r.Method, url: c.shownURL(r), err: redact.WithoutURL(err)}
}

// shownURL returns the URL of a request without its query.
func (c *Client) shownURL(r *Request) string {
	u := c.urlOf(r)
	u.RawQuery = ""
	return u.String()
}

// answerError returns the error for an invalid response.
func (c *Client) answerError(r *Request, resp *http.Response, problem string) error {
	return &Error{Method: r.Method, URL: c.shownURL(r), Status: resp.StatusCode, Message: problem}
}

// errorFromAnswer returns the error in a server's response.
func (c *Client) errorFromAnswer(r *Request, resp *http.Response, mediaType string) error {
	e := &Error{Method: r.Method, URL: c.shownURL(r), Status: resp.StatusCode, retryAfter: retryAfter(resp.Header)}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err == nil && mediaType == "application/json" {
		decodeError(data, e)
	}
	switch {
	case e.Code != "":
	case resp.StatusCode < http.StatusBadRequest:
		e.Message = "the server sends elsewhere, where this client does not go"
	default:
		e.Message = describeStranger(mediaType, data)
	}
	return e
}
