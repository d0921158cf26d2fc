package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote carries a session over HTTP.
type remote struct {
	endpoint string
	headers  map[string]string
	auth     credential.Credential
	base     *http.Transport
	// ctx ends all requests.
	ctx    context.Context
	cancel context.CancelFunc

	mu         sync.Mutex
	connection mcp.Connection
}

// plainTransport returns what requests to a server of the configuration go
// through.
func plainTransport() *http.Transport {
	return http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // nothing replaces it
}

func newRemote(ctx context.Context, auth *ServerAuth, to *target) *remote {
	r := &remote{endpoint: to.url, headers: to.headers, base: to.transport()}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.auth = newCredential(auth, r.base)
	return r
}

// Connect returns a connection; the first request is made later.
func (r *remote) Connect(ctx context.Context) (mcp.Connection, error) {
	transport := mcp.StreamableClientTransport{
		Endpoint: r.endpoint, MaxEventSize: maxMessage, MaxRetries: 3,
		HTTPClient: &http.Client{
			Transport: r,
			// A redirect would take the credentials somewhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
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

// explainError adds nothing: what is wrong stands in the error.
func (r *remote) explainError(err error) error { return err }

// RoundTrip makes a request with the configured headers and credentials. A
// token that is refused is replaced once.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
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
	if fate, ok := ctx.Value(deliveryKey{}).(*delivery); ok && resp.StatusCode == http.StatusNotFound {
		fate.refused.Store(true)
	}
	resp.Body = &body{ReadCloser: resp.Body, left: bodyLimit(resp), release: release}
	return resp, nil
}

// dressRequest returns a copy of a request with the trace of its call and the
// configured headers.
func (r *remote) dressRequest(req *http.Request) *http.Request {
	dressed := req.Clone(req.Context())
	r.setTrace(dressed)
	for name, value := range r.headers {
		dressed.Header.Set(name, value)
	}
	return dressed
}

// errTooLarge reports that an answer is larger than any should be.
var errTooLarge = errors.New("the answer is larger than 16 MiB")

// bodyLimit returns how large the body of a response may be. A stream may be
// endless; its events are bounded each.
func bodyLimit(resp *http.Response) int64 {
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
		return -1
	}
	return maxMessage
}

// body is the body of a response: bounded, and released when it is closed.
type body struct {
	io.ReadCloser
	// left is how much may still be read; less than 0 is no bound.
	left    int64
	release func()
}

// Read reads until the bound is passed, which is an error.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return b.ReadCloser.Read(p)
	}
	if b.left == 0 {
		var more [1]byte
		n, err := b.ReadCloser.Read(more[:])
		if n > 0 {
			return 0, errTooLarge
		}
		return 0, err
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// Close closes the body.
func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
