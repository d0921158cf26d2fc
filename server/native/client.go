package native

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/telemetry"
	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
)

const (
	// DefaultPatience is how long a client tries to reach a server again that it
	// had reached before.
	DefaultPatience = 2 * time.Minute
	// DefaultSilence is how long a stream may say nothing before the client takes
	// the connection for lost: three signs of life.
	DefaultSilence = 3 * server.DefaultKeepAlive
)

// Limits of the client's reads, in bytes.
const (
	maxAnswer = 32 << 20
	maxExport = 256 << 20
	maxError  = 64 << 10
)

// ClientSettings configures a client. The URL is required.
type ClientSettings struct {
	// URL is where the server is, with the path that a proxy adds, if any.
	URL string
	// Key is the API key or access token that is shown; empty shows none.
	Key string
	// Patience and Silence have the defaults above.
	Patience time.Duration
	Silence  time.Duration
	// Broken is called each time the server cannot be reached and the client will
	// retry, by the goroutine that called the client; nil is allowed.
	Broken func(error)
	// Transport carries the requests; nil is one like http.DefaultTransport.
	Transport http.RoundTripper

	_ struct{} // keyed literals only
}

// Client asks a server for sessions, turns and events. It is safe for concurrent
// use.
//
// If a server that has answered before is unreachable or too busy, requests are retried until the
// Patience runs out; a server that never answered is not retried. Creating requests have a key,
// so that none is executed twice. The errors are an *Error for a server's answer, wrapping the
// service's error if there is one, and errors of net/http and ctx.
type Client struct {
	base      *url.URL
	key       string
	http      *http.Client
	patience  time.Duration
	silence   time.Duration
	broken    func(error)
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
	c := &Client{
		base: base, key: s.Key, broken: s.Broken,
		patience: cmp.Or(s.Patience, DefaultPatience), silence: cmp.Or(s.Silence, DefaultSilence),
	}
	if c.broken == nil {
		c.broken = func(error) {}
	}
	if s.Transport == nil {
		c.transport = newTransport()
		s.Transport = c.transport
	}
	c.http = &http.Client{Transport: s.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// headerTime is how long a server may take to begin its answer.
const headerTime = time.Minute

func newTransport() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if known, ok := http.DefaultTransport.(*http.Transport); ok {
		t = known.Clone()
	}
	t.ResponseHeaderTimeout = headerTime
	return t
}

// Close closes the connections that lie idle.
func (c *Client) Close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// request is a request to the server.
type request struct {
	method string
	// path are its segments, as they are before they are escaped.
	// prefix is where path begins; empty is Prefix.
	prefix string
	path   []string
	query  url.Values
	header http.Header
	body   []byte
	// most is how large the answer may be, in bytes.
	most int64
}

// newGet returns a request that changes nothing.
func newGet(query url.Values, path ...string) *request {
	return &request{method: http.MethodGet, path: path, query: query, most: maxAnswer}
}

// newPost returns a request with a body, which key names, so that it may be sent
// again; empty makes one.
func newPost(key string, body any, path ...string) (*request, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if key == "" {
		key = uuid.Must(uuid.NewV7()).String()
	}
	r := &request{method: http.MethodPost, path: path, body: data, most: maxAnswer, header: http.Header{}}
	r.header.Set("Content-Type", "application/json")
	r.header.Set(surfacekit.IdempotencyHeader, key)
	return r, nil
}

// urlOf returns where a request is sent.
func (c *Client) urlOf(r *request) *url.URL {
	escaped := make([]string, len(r.path))
	for i, segment := range r.path {
		escaped[i] = url.PathEscape(segment)
	}
	u, prefix := *c.base, cmp.Or(r.prefix, Prefix)
	u.Path = strings.TrimRight(u.Path, "/") + prefix + "/" + strings.Join(r.path, "/")
	u.RawPath = strings.TrimRight(c.base.EscapedPath(), "/") + prefix + "/" + strings.Join(escaped, "/")
	u.RawQuery = r.query.Encode()
	return &u
}

// sendRequest sends a request and reads the answer into a value. It tries again while
// that may help.
func (c *Client) sendRequest(ctx context.Context, r *request, into any) error {
	again := c.newPatience()
	for {
		err := c.sendOnce(ctx, r, into)
		if err == nil {
			return nil
		}
		if err = again.waitBeforeRetry(ctx, err); err != nil {
			return err
		}
	}
}

// sendOnce sends a request once.
func (c *Client) sendOnce(ctx context.Context, r *request, into any) error {
	resp, err := c.openResponse(ctx, r, "application/json")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, r.most+1))
	switch {
	case err != nil:
		return c.connectionError(r, err)
	case int64(len(data)) > r.most:
		return c.answerError(r, resp, fmt.Sprintf("the answer has more than %d bytes", r.most))
	case resp.StatusCode == http.StatusNoContent && into == nil:
		return nil
	}
	err = json.Unmarshal(data, into)
	if answer, ok := into.(interface{ isWhole() bool }); err != nil || ok && !answer.isWhole() {
		return c.answerError(r, resp, "the answer is not the JSON that it should be")
	}
	return nil
}

// openResponse sends a request and returns the answer, if it is a good one of a media
// type.
func (c *Client) openResponse(ctx context.Context, r *request, want string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.urlOf(r).String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", want)
	req.Header.Set("User-Agent", "agentruntime")
	telemetry.Inject(ctx, req.Header)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
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

// patience is how long a request is tried again.
type patience struct {
	client *Client
	waits  backoff.BackOff
	// told is set once the caller knows.
	told bool
}

// The times between two tries.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 5 * time.Second
)

func (c *Client) newPatience() *patience {
	return &patience{client: c, waits: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstWait), backoff.WithMaxInterval(maxWait), backoff.WithMaxElapsedTime(c.patience),
	)}
}

// resetWait forgets what went wrong: it works again.
func (p *patience) resetWait() {
	p.waits.Reset()
	p.told = false
}

// waitBeforeRetry waits before another try, because of an error. It returns nil when there is
// to be one, and otherwise the error or why ctx has ended.
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
		pause = max(pause, min(refused.retryAfter, p.client.patience))
	}
	if !p.told {
		p.told = true
		p.client.broken(err)
	}
	return wait.For(ctx, pause)
}

// connectionError returns the error of a connection that broke.
func (c *Client) connectionError(r *request, err error) error {
	return &brokenError{method: r.method, url: c.shownURL(r), err: redact.WithoutURL(err)}
}

// shownURL returns the URL of a request without its query.
func (c *Client) shownURL(r *request) string {
	u := c.urlOf(r)
	u.RawQuery = ""
	return u.String()
}

// answerError returns the error of an answer that makes no sense.
func (c *Client) answerError(r *request, resp *http.Response, problem string) error {
	return &Error{Method: r.method, URL: c.shownURL(r), Status: resp.StatusCode, Message: problem}
}

// errorFromAnswer returns the error that a server answered with.
func (c *Client) errorFromAnswer(r *request, resp *http.Response, mediaType string) error {
	e := &Error{Method: r.method, URL: c.shownURL(r), Status: resp.StatusCode, retryAfter: retryAfter(resp.Header)}
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
