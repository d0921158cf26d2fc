package bench

import (
	"context"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/spec"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// dropped is a span processor that drops all spans.
type dropped struct{}

func (dropped) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (dropped) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (dropped) Shutdown(context.Context) error                  { return nil }
func (dropped) ForceFlush(context.Context) error                { return nil }

// traced makes a runtime record its spans and metrics with the OpenTelemetry SDK. They are not
// exported.
func traced(tb testing.TB) option {
	tb.Helper()
	t, err := telemetry.New(telemetry.Settings{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(dropped{})),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return func(b *builder.AgentRuntimeBuilder, _ *spec.Agent) { b.WithTelemetry(t) }
}

// BenchmarkTurnTraced measures the turn of BenchmarkTurn with recorded spans and metrics.
func BenchmarkTurnTraced(b *testing.B) { benchmarkTurn(b, script(b, 1), 0, traced(b)) }
