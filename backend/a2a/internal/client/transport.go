package client

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"

	"github.com/agentruntime/agentruntime/internal/credential"
)

// transport sends requests to one peer with its credential and trace context. It validates
// responses that the SDK validates too late or not at all.
type transport struct {
	base   http.RoundTripper
	auth   credential.Credential
	trust  trusted
	limits limits
	// secrets are the parts of the configured credential to redact.
	secrets []string
}

// RoundTrip sends a request of the protocol. An unsuccessful response is an *HTTPError. Only the
// time without data is limited, not the total time, because a stream may last.
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

// sendRequest sends a request and returns any response. Its body fails with an *IdleError if no
// data arrives for too long. The caller must close it.
func (t *transport) sendRequest(req *http.Request) (*http.Response, error) {
	ctx, watch := newWatch(req.Context(), t.limits.idle)
	if !isSlow(req) {
		watch.start()
	}
	auth := credential.None()
	if t.trust.has(req.URL) {
		auth = t.auth
	}
	resp, err := credential.RoundTrip(t.base, auth, withTrace(req.WithContext(ctx)))
	if err != nil {
		err = watch.explainError(err)
		watch.stop()
		return nil, err
	}
	watch.start()
	resp.Body = &watched{ReadCloser: resp.Body, watch: watch}
	return resp, nil
}

// userAgent is the User-Agent of requests.
const userAgent = "agentruntime"

// withTrace returns a copy of a request as part of its context's trace. Credentials of a request to
// this runtime are not forwarded, nor is baggage: callers may put anything into it, and the peer
// may be anyone's.
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

// slowKey marks the context of calls that are answered only when the work is done.
type slowKey struct{}

// isSlow reports whether a request is answered only when the work is done, without data until then.
// A stream begins immediately.
func isSlow(req *http.Request) bool {
	marked, _ := req.Context().Value(slowKey{}).(bool)
	return marked && !wantsStream(req)
}
