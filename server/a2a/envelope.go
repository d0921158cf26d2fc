package a2a

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
)

// envelope is a request's information from the transport.
type envelope struct {
	agent string
	// spoken is the endpoint's protocol version, and asked the one in the request.
	spoken, asked version
	// rpc is set if the request is in JSON-RPC.
	rpc bool
	// extended is set when the caller activated the extension.
	extended bool
	// query is the query of an HTTP+JSON request.
	query url.Values
	// outage is set if the request fails temporarily.
	outage atomic.Bool
	// card is the extended card as clients of version 0.3 read it, in JSON. The SDK would
	// return one without security schemes.
	card []byte
}

// userRole returns the role of a caller's messages, as the caller's version and binding write it.
func (e *envelope) userRole() string {
	if e.spoken == v03 && e.rpc {
		return "user"
	}
	return string(a2a.MessageRoleUser)
}

type envelopeKey struct{}

func withEnvelope(ctx context.Context, e *envelope) context.Context {
	return context.WithValue(ctx, envelopeKey{}, e)
}

// splitExtensions splits the header that names extensions into separate values, and reports whether
// ours is among them.
func splitExtensions(h http.Header) (ours bool) {
	for _, key := range []string{a2a.SvcParamExtensions, "X-" + a2a.SvcParamExtensions} {
		var list []string
		for _, line := range h.Values(key) {
			for uri := range strings.SplitSeq(line, ",") {
				if uri = strings.TrimSpace(uri); uri != "" {
					list = append(list, uri)
					ours = ours || uri == a2awire.Extension
				}
			}
		}
		if len(list) > 0 {
			h[http.CanonicalHeaderKey(key)] = list
		}
	}
	return ours
}
