package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
)

var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Extract returns ctx with the trace context and the baggage of a request that
// came in, by the W3C headers traceparent, tracestate and baggage. Headers that
// are missing or malformed are passed over. It needs no Telemetry: without one,
// what the turn asks of others still belongs to the caller's trace.
func Extract(ctx context.Context, header http.Header) context.Context {
	return propagator.Extract(ctx, propagation.HeaderCarrier(header))
}

// Inject writes the trace context and the baggage of ctx into the headers of a
// request to a peer of the same house. Baggage holds whatever callers put there,
// so a request to anybody else gets the trace context alone, by
// propagation.TraceContext.
func Inject(ctx context.Context, header http.Header) {
	propagator.Inject(ctx, propagation.HeaderCarrier(header))
}
