package client

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"

	"github.com/agentruntime/agentruntime/internal/credential"
)

// transport sends requests to one peer with its credential and trace context. It validates the
// responses where the SDK does not, or does so too late.
type transport struct {
	base   http.RoundTripper
	auth   credential.Credential
	trust  trusted
	limits limits
	// secrets are the parts of the configured credential to redact.
	secrets []string
}

// RoundTrip makes a request of the protocol. An unsuccessful response is an *HTTPError. There is
// no limit for the total time, because a stream may last, only for the time without data.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.sendRequest(req)
	if err != nil {
		return nil, err
	}
	if err := judgeAnswer(req, resp, t.limits, t.secrets); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	holdToID(req, resp)
	return resp, nil
}

// sendRequest makes a request and returns whatever the answer is. Its body ends with an
// *IdleError when nothing comes for too long, and must be closed.
func (t *transport) sendRequest(req *http.Request) (*http.Response, error) {
	ctx, watch := newWatch(req.Context(), t.limits.idle)
	if !isSlow(req) {
		watch.start()
	}
	resp, err := credential.RoundTrip(t.base, t.credentialFor(req), withTrace(req.WithContext(ctx)))
	if err != nil {
		err = watch.explainError(err)
		watch.stop()
		return nil, err
	}
	watch.start()
	resp.Body = &watched{ReadCloser: resp.Body, watch: watch}
	return resp, nil
}

// credentialFor returns the credential for a request: none for an origin that the configuration
// does not name.
func (t *transport) credentialFor(req *http.Request) credential.Credential {
	if t.trust.has(req.URL) {
		return t.auth
	}
	return credential.None()
}

// userAgent is what requests say of the program that makes them.
const userAgent = "agentruntime"

// withTrace returns a copy of a request as a part of the trace that its context
// belongs to. Credentials that came with a request to this runtime stay here,
// and so does baggage: it holds whatever callers put there, and the peer may be
// anybody's.
func withTrace(req *http.Request) *http.Request {
	dressed := req.Clone(req.Context())
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "Baggage"} {
		dressed.Header.Del(name)
	}
	dressed.Header.Set("User-Agent", userAgent)
	if dressed.Header.Get("Accept") == "" {
		dressed.Header.Set("Accept", TypeJSON)
	}
	propagation.TraceContext{}.Inject(req.Context(), propagation.HeaderCarrier(dressed.Header))
	return dressed
}

// slowKey marks the context of calls whose answer comes when the work is done.
type slowKey struct{}

// isSlow reports whether a request is answered when the work is done, so that
// nothing comes for as long as that takes. A stream begins at once.
func isSlow(req *http.Request) bool {
	marked, _ := req.Context().Value(slowKey{}).(bool)
	return marked && !wantsStream(req)
}
