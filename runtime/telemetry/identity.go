package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// identity is the turn that a context belongs to.
type identity struct {
	turn string
	// step is the current step of the turn, 0 before the first.
	step atomic.Int64
	// of is the turn itself; nil if it is not observed.
	of *TurnSpan
}

type identityKey struct{}

// WithTurn returns a context from which Fields gets the turn, for turns that no Telemetry observes;
// StartTurn does the same.
func WithTurn(ctx context.Context, turnID string) context.Context {
	return &turnContext{Context: ctx, identity: identity{turn: turnID}}
}

// turnContext is a context with its turn.
type turnContext struct {
	context.Context //nolint:containedctx // the one it is derived from

	identity identity
}

// Value returns the turn, or a value of the parent context.
func (c *turnContext) Value(key any) any {
	if key == (identityKey{}) {
		return &c.identity
	}
	return c.Context.Value(key)
}

// Fields returns the log fields that link a log line with a turn and trace: those of turn_id, step,
// trace_id and span_id that ctx has. It is nil if ctx has none.
func Fields(ctx context.Context) []zap.Field {
	id, _ := ctx.Value(identityKey{}).(*identity)
	span := trace.SpanContextFromContext(ctx)
	if id == nil && !span.IsValid() {
		return nil
	}
	fields := make([]zap.Field, 0, 4)
	if id != nil {
		fields = append(fields, zap.String("turn_id", id.turn))
		if step := id.step.Load(); step > 0 {
			fields = append(fields, zap.Int64("step", step))
		}
	}
	if span.IsValid() {
		fields = append(fields, zap.Stringer("trace_id", span.TraceID()), zap.Stringer("span_id", span.SpanID()))
	}
	return fields
}

// TraceAttrs returns trace_id and span_id, for log lines that already name the turn. It is nil if
// ctx belongs to no trace.
func TraceAttrs(ctx context.Context) []slog.Attr {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String())}
}

// Logger returns a logger that adds the Fields of ctx to everything it logs; it is base if ctx has
// none.
func Logger(ctx context.Context, base *zap.Logger) *zap.Logger {
	if fields := Fields(ctx); fields != nil {
		return base.With(fields...)
	}
	return base
}
