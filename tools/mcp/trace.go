package mcp

import (
	"context"

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
