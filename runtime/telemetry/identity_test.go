package telemetry

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func fieldsOf(ctx context.Context) map[string]any {
	m := zapcore.NewMapObjectEncoder()
	for _, f := range Fields(ctx) {
		f.AddTo(m)
	}
	return m.Fields
}

func TestALogLineCanBeFoundFromItsTurnAndTrace(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	ctx, turn := w.StartTurn(t.Context(), aTurn)
	if _, ok := fieldsOf(ctx)["step"]; ok {
		t.Error("there is a step before the first")
	}
	ctx, step := turn.StartStep(ctx, 3, "helper")
	span := trace.SpanContextFromContext(ctx)
	want := map[string]any{
		"turn_id": "t-1", "step": int64(3), "trace_id": span.TraceID().String(), "span_id": span.SpanID().String(),
	}
	if diff := cmp.Diff(want, fieldsOf(ctx)); diff != "" {
		t.Error(diff)
	}
	core, logged := observer.New(zap.DebugLevel)
	Logger(ctx, zap.New(core)).Info("here")
	if diff := cmp.Diff(want, logged.All()[0].ContextMap()); diff != "" {
		t.Error(diff)
	}
	step.End(nil)
	turn.End(TurnOutcome{})
}

func TestALogLineOfATurnThatIsNotObservedHasItsTurn(t *testing.T) {
	t.Parallel()
	ctx := WithTurn(t.Context(), "t-9")
	if diff := cmp.Diff(map[string]any{"turn_id": "t-9"}, fieldsOf(ctx)); diff != "" {
		t.Error(diff)
	}
	if TraceAttrs(ctx) != nil {
		t.Error("the turn belongs to a trace")
	}
	if TurnFromContext(ctx) != nil {
		t.Error("the turn is observed")
	}
}

func TestOutsideOfTurnsALoggerStaysWhatItIs(t *testing.T) {
	t.Parallel()
	base := zap.NewNop()
	if Logger(t.Context(), base) != base {
		t.Error("there is another logger")
	}
}
