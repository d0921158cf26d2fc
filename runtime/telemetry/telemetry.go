// Package telemetry exports agent activity to OpenTelemetry: a span per turn, step, model call and
// tool call, and matching metrics. Names and attributes follow the semantic conventions for
// generative AI; additional names start with agentruntime.
//
// A nil *Telemetry, a nil *TurnSpan and the zero values of the other spans are valid and do
// nothing, so instrumented code needs no checks.
package telemetry

import (
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

// scopeName is the instrumentation scope of all spans and metrics.
const scopeName = "github.com/agentruntime/agentruntime/runtime/telemetry"

// defaultMaxContent is the default of Settings.MaxContent, in bytes.
const defaultMaxContent = 16 << 10

// Settings configures the destination and content of telemetry.
type Settings struct {
	// TracerProvider receives the spans; it may be nil.
	TracerProvider trace.TracerProvider
	// MeterProvider receives the metrics; it may be nil.
	MeterProvider metric.MeterProvider
	// CaptureContent adds content to the spans: messages, arguments and results of tools, and
	// error texts. Otherwise, spans have only names, numbers and ids. Content can be personal and
	// secret: anyone who can read the traces can read it.
	CaptureContent bool
	// Redact is applied to every text before it is cut and kept; nil keeps texts unchanged. It must
	// be safe for concurrent use.
	Redact func(string) string
	// MaxContent is the maximum size of the text in one attribute, in bytes; 0 or less means 16
	// KiB. Of a conversation the latest messages are kept.
	MaxContent int

	_ struct{} // keyed literals only
}

// Telemetry makes the spans and metrics of turns. It is safe for concurrent
// use.
type Telemetry struct {
	// tracer is nil if spans are not exported.
	tracer  trace.Tracer
	meter   metric.Meter
	metrics *metrics
	content *content
	starts  starts
	// legacyTools reports whether tool calls are also measured under Gestalt's names.
	legacyTools atomic.Bool
	// tenants are the tenants that metrics distinguish; a nil map distinguishes none.
	tenants atomic.Pointer[map[string]bool]
}

// New returns a Telemetry. Without a working provider it returns nil, which is valid and costs
// nothing. It fails if the meter provider rejects an instrument. The caller owns the providers,
// and shuts them down after the last turn.
func New(s Settings) (*Telemetry, error) {
	spans, numbers := s.TracerProvider, s.MeterProvider
	if _, idle := spans.(nooptrace.TracerProvider); idle {
		spans = nil
	}
	if _, idle := numbers.(noopmetric.MeterProvider); idle {
		numbers = nil
	}
	if spans == nil && numbers == nil {
		return nil, nil //nolint:nilnil // nil is a Telemetry that does nothing
	}
	t := &Telemetry{}
	if spans != nil {
		t.tracer = spans.Tracer(scopeName, trace.WithSchemaURL(semconv.SchemaURL))
	}
	if numbers == nil {
		numbers = noopmetric.NewMeterProvider()
	}
	var err error
	t.meter = numbers.Meter(scopeName, metric.WithSchemaURL(semconv.SchemaURL))
	if t.metrics, err = newMetrics(t.meter); err != nil {
		return nil, fmt.Errorf("make the instruments: %w", err)
	}
	if s.CaptureContent {
		t.content = newContent(s.Redact, s.MaxContent)
	}
	return t, nil
}
