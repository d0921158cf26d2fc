package bench

import (
	"context"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/telemetry"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// dropped is a processor of spans that wants none.
type dropped struct{}

func (dropped) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (dropped) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (dropped) Shutdown(context.Context) error                  { return nil }
func (dropped) ForceFlush(context.Context) error                { return nil }

// traced makes a runtime record its spans and metrics with the SDK of
// OpenTelemetry. Nothing exports them.
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

// BenchmarkTurnTraced measures the turn of BenchmarkTurn while its spans and
// metrics are recorded.
func BenchmarkTurnTraced(b *testing.B) { benchmarkTurn(b, script(b, 1), 0, traced(b)) }
