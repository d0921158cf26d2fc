package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/mend"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
)

// remote carries a session over HTTP.
type remote struct {
	endpoint string
	headers  map[string]string
	auth     credential.Credential
	oauth    tokenSource
	base     *http.Transport
	// ctx ends all requests.
	ctx    context.Context
	cancel context.CancelFunc

	// events is set for the HTTP+SSE transport of 2024-11-05, and refused if the server rejects a
	// message like servers of that transport.
	events  bool
	refused atomic.Bool
	// answers counts the messages being sent that belong to no call. flooded is set when there are
	// too many, which ends the session.
	answers atomic.Int32
	flooded atomic.Bool

	mu         sync.Mutex
	connection mcp.Connection
}

// plainTransport returns the transport for requests to a server of the configuration.
func plainTransport() *http.Transport {
	return http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // nothing replaces it
}

func newRemote(ctx context.Context, auth *serverAuth, to *target) *remote {
	r := &remote{endpoint: to.url, headers: to.headers, base: to.transport()}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.auth, r.oauth = credential.None(), to.oauth
	if auth != nil && auth.Type == authBearer {
		r.auth = credential.Bearer(auth.Token)
	}
	return r
}

// Connect returns a connection; the first request is made later, except with events.
func (r *remote) Connect(ctx context.Context) (mcp.Connection, error) {
	client := &http.Client{
		Transport: r,
		// A redirect would send the credentials to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	streamable := &mcp.StreamableClientTransport{Endpoint: r.endpoint, MaxEventSize: mend.MaxMessage, MaxRetries: 3, HTTPClient: client}
	if r.oauth != nil {
		streamable.OAuthHandler = r.oauth
	}
	var transport mcp.Transport = streamable
	if r.events {
		transport = &mcp.SSEClientTransport{Endpoint: r.endpoint, MaxEventSize: mend.MaxMessage, HTTPClient: client}
		ctx = r.ctx // the stream of events outlives the handshake
	}
	connection, err := transport.Connect(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connection = connection
	return connection, err
}

// stop ends all requests.
func (r *remote) stop() {
	r.cancel()
	r.mu.Lock()
	connection := r.connection
	r.mu.Unlock()
	if connection != nil {
		_ = connection.Close()
	}
	r.base.CloseIdleConnections()
}

// maxAnswers bounds the requests of a server that are being answered.
const maxAnswers = 1000

// errFlood reports that a server does not take the answers to its requests.
var errFlood = fmt.Errorf("it has sent more than %d requests and does not take the answers", maxAnswers)

// explainError replaces the consequence of a flood with its cause.
func (r *remote) explainError(err error) error {
	if r.flooded.Load() {
		return errFlood
	}
	return err
}

// RoundTrip makes a request with the configured headers and credentials. It replaces a rejected
// token once.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.events && !r.isSameOrigin(req.URL) {
		return nil, errOtherOrigin
	}
	d, isCall := req.Context().Value(deliveryKey{}).(*delivery)
	if req.Method == http.MethodPost && !isCall {
		defer r.answers.Add(-1)
		if r.answers.Add(1) > maxAnswers && r.flooded.CompareAndSwap(false, true) {
			go r.stop()
		}
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(r.ctx, cancel)
	release := func() {
		stop()
		cancel()
	}
	resp, err := credential.RoundTrip(r.base, r.auth, r.dressRequest(req.WithContext(ctx)))
	if err != nil {
		release()
		return nil, err
	}
	tag := ""
	if isCall {
		tag = d.tag
		if resp.StatusCode == http.StatusNotFound {
			d.refused.Store(true)
		}
	}
	if req.Method == http.MethodPost && slices.Contains(oldTransportStatus, resp.StatusCode) {
		r.refused.Store(true)
	}
	isStream := isEventStream(resp)
	if !isStream { // a stream may be endless; each of its events is bounded
		resp.Body = http.MaxBytesReader(nil, resp.Body, mend.MaxMessage)
	}
	resp.Body = mend.Stream(&body{ReadCloser: resp.Body, release: release}, !isStream, tag)
	return resp, nil
}

// oldTransportStatus are the statuses with which a server of the HTTP+SSE transport rejects
// messages sent to its stream.
var oldTransportStatus = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}

// errOtherOrigin reports that a server wants messages to be sent to another server.
var errOtherOrigin = errors.New("the server wants messages to be sent to another origin, which would receive its credentials")

// isSameOrigin reports whether a URL has the origin of the endpoint.
func (r *remote) isSameOrigin(u *url.URL) bool {
	own, err := url.Parse(r.endpoint)
	return err == nil && u.Scheme == own.Scheme && u.Host == own.Host
}

// dressRequest returns a copy of a request with the trace of its call and the
// configured headers.
func (r *remote) dressRequest(req *http.Request) *http.Request {
	dressed := req.Clone(req.Context())
	r.setTrace(dressed)
	if id, ok := req.Context().Value(taskNameKey{}).(string); ok && req.Method == http.MethodPost {
		dressed.Header.Set("Mcp-Name", id)
	}
	for name, value := range r.headers {
		dressed.Header.Set(name, value)
	}
	return dressed
}

// setTrace adds a request to the trace of its context, for proxies on the way to the server, unless
// the configuration names another trace. Baggage is not sent.
func (r *remote) setTrace(req *http.Request) {
	for name := range r.headers {
		if strings.EqualFold(name, "traceparent") || strings.EqualFold(name, "tracestate") {
			return
		}
	}
	propagation.TraceContext{}.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
}

// errTooLarge reports that an answer exceeds the maximum size.
var errTooLarge = errors.New("the answer is larger than 16 MiB")

func isEventStream(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// body is the body of a response, which is released when it is closed.
type body struct {
	io.ReadCloser
	release func()
}

// Read reads until the limit is exceeded, which is an error.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
		err = errTooLarge
	}
	return n, err
}

// Close closes the body.
func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
