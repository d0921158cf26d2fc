package telemetry

import (
	"context"
	"net/http"

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
	return propagator.Extract(ctx, metadataCarrier(metadata))
}

// InjectMetadata is Inject for the metadata of a gRPC request.
func InjectMetadata(ctx context.Context, metadata map[string][]string) {
	propagator.Inject(ctx, metadataCarrier(metadata))
}

// metadataCarrier adapts the metadata of a gRPC request to a carrier.
type metadataCarrier map[string][]string

// Get returns the first value of a name.
func (m metadataCarrier) Get(key string) string {
	if values := m[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set replaces the values of a name.
func (m metadataCarrier) Set(key, value string) { m[key] = []string{value} }

// Keys returns the names.
func (m metadataCarrier) Keys() []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}
