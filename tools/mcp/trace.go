package mcp

import (
	"context"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
)

// traceMeta returns metadata that adds a call to the trace of ctx; every transport carries it.
// Outside of traces there is none. Baggage is not sent: it holds whatever callers put there, and
// the server may belong to anyone.
func traceMeta(ctx context.Context) mcp.Meta {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	meta := make(mcp.Meta, len(carrier))
	for name, value := range carrier {
		meta[name] = value
	}
	return meta
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
