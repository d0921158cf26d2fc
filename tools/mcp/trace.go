package mcp

import (
	"context"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
)

// traceMeta returns the metadata of a call that make it part of the trace that
// ctx belongs to: every transport carries them. Outside of traces there are
// none. Baggage stays here: it holds whatever callers put there, and the server
// may be anybody's.
func traceMeta(ctx context.Context) mcp.Meta {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	meta := make(mcp.Meta, len(carrier))
	for name, value := range carrier {
		meta[name] = value
	}
	return meta
}

// setTrace makes a request part of the trace that its context belongs to, for
// proxies on the way to the server, unless the configuration names another trace.
// Baggage is not sent.
func (r *remote) setTrace(req *http.Request) {
	for name := range r.headers {
		if strings.EqualFold(name, "traceparent") || strings.EqualFold(name, "tracestate") {
			return
		}
	}
	propagation.TraceContext{}.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
}
