package telemetry

import (
	"context"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// bareTurn tells of a turn of two steps, two model calls and a tool call, and
// does nothing else.
func bareTurn(ctx context.Context, t *Telemetry) {
	ctx, turn := t.StartTurn(ctx, aTurn)
	for n := range 2 {
		stepCtx, step := turn.StartStep(ctx, n+1, "helper")
		_, call := turn.StartModel(stepCtx, anInference)
		ev := model.Event{Type: model.EventText}
		for range 10 {
			call.Observe(&ev)
		}
		call.End(ModelOutcome{Reason: model.FinishStop, Usage: someUsage, Cost: 0.25, Currency: "EUR"})
		if n == 0 {
			_, used := turn.StartTool(stepCtx, aToolCall)
			used.End(ToolOutcome{Outcome: event.CallSucceeded})
		}
		step.End(nil)
	}
	turn.End(TurnOutcome{
		Outcome: event.Outcome{Termination: event.Termination{Type: event.NaturalEnd}, Steps: 2, Usage: someUsage}, Status: event.StatusSucceeded,
	})
}

// dropped is a processor of spans that wants none.
type dropped struct{}

func (dropped) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (dropped) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (dropped) Shutdown(context.Context) error                  { return nil }
func (dropped) ForceFlush(context.Context) error                { return nil }

func BenchmarkTurn(b *testing.B) {
	spans := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(dropped{}))
	numbers := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for _, tt := range []struct {
		name     string
		settings Settings
	}{
		{"none", Settings{}},
		{"spans and metrics", Settings{TracerProvider: spans, MeterProvider: numbers}},
		{"spans", Settings{TracerProvider: spans}},
		{"metrics", Settings{MeterProvider: numbers}},
		{"content", Settings{TracerProvider: spans, MeterProvider: numbers, CaptureContent: true}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			t, err := New(tt.settings)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				bareTurn(context.Background(), t)
			}
		})
	}
}
