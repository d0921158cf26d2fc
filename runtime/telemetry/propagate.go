package telemetry

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Extract returns ctx with the trace context and baggage of an incoming request, from the W3C
// headers traceparent, tracestate and baggage. It ignores missing or malformed headers. It works
// without a Telemetry: outgoing requests of the turn then still belong to the caller's trace.
func Extract(ctx context.Context, header http.Header) context.Context {
	return propagator.Extract(ctx, propagation.HeaderCarrier(header))
}

// Inject writes the trace context and baggage of ctx into the headers of a request to a trusted
// peer. Baggage holds whatever callers put there, so a request to any other server gets only the
// trace context, by propagation.TraceContext.
func Inject(ctx context.Context, header http.Header) {
	propagator.Inject(ctx, propagation.HeaderCarrier(header))
}

// ExtractMetadata is Extract for the metadata of a gRPC request: lower-case names, each with its
// values.
func ExtractMetadata(ctx context.Context, metadata map[string][]string) context.Context {
	header := make(http.Header, len(metadata))
	for name, values := range metadata {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return Extract(ctx, header)
}

// InjectMetadata is Inject for the metadata of a gRPC request.
func InjectMetadata(ctx context.Context, metadata map[string][]string) {
	header := make(http.Header)
	Inject(ctx, header)
	for name, values := range header {
		metadata[strings.ToLower(name)] = values
	}
}
