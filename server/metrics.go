package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// scopeName is the instrumentation scope of the server's metrics.
const scopeName = "github.com/agentruntime/agentruntime/server"

// durationBuckets are the HTTP buckets of the semantic conventions, plus longer ones for streams.
var durationBuckets = []float64{
	0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300,
}

// metrics are the instruments of a server.
type metrics struct {
	duration metric.Float64Histogram
	active   metric.Int64UpDownCounter
}

func newMetrics(p metric.MeterProvider) (*metrics, error) {
	meter := p.Meter(scopeName, metric.WithSchemaURL(semconv.SchemaURL))
	duration, err := meter.Float64Histogram("http.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of HTTP server requests."), metric.WithExplicitBucketBoundaries(durationBuckets...))
	active, failed := meter.Int64UpDownCounter("http.server.active_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Number of active HTTP server requests."))
	return &metrics{duration: duration, active: active}, errors.Join(err, failed)
}

func (m *metrics) beginRequest(ctx context.Context, r *http.Request) {
	m.active.Add(ctx, 1, metric.WithAttributes(semconv.HTTPRequestMethodKey.String(knownMethod(r.Method))))
}

func (m *metrics) endRequest(ctx context.Context, r *http.Request, x *exchange, w *response, took time.Duration) {
	method := semconv.HTTPRequestMethodKey.String(knownMethod(r.Method))
	m.active.Add(ctx, -1, metric.WithAttributes(method))
	m.duration.Record(ctx, took.Seconds(), metric.WithAttributes(method,
		semconv.HTTPRoute(x.routePath()), semconv.HTTPResponseStatusCode(cmp.Or(w.status, http.StatusOK))))
}

// knownMethod returns a standard method, or "_OTHER", because clients can send any
// name.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "_OTHER"
	}
}
