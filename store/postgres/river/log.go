package river

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logHandler writes River's log to zap. What River logs as info, such as each round of cleaning, is
// logged as debug.
type logHandler struct{ to *zap.Logger }

var _ slog.Handler = (*logHandler)(nil)

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.to.Core().Enabled(zapLevel(level))
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	fields := make([]zap.Field, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		fields = append(fields, zapField(a))
		return true
	})
	h.to.Log(zapLevel(r.Level), r.Message, fields...)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := make([]zap.Field, len(attrs))
	for i, a := range attrs {
		fields[i] = zapField(a)
	}
	return &logHandler{to: h.to.With(fields...)}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{to: h.to.With(zap.Namespace(name))}
}

// zapField returns an attribute as a field; the field of a group contains its attributes.
func zapField(a slog.Attr) zap.Field {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		return zap.Any(a.Key, value.Any())
	}
	fields := make([]zap.Field, len(value.Group()))
	for i, member := range value.Group() {
		fields[i] = zapField(member)
	}
	return zap.Dict(a.Key, fields...)
}

func zapLevel(l slog.Level) zapcore.Level {
	switch {
	case l >= slog.LevelError:
		return zapcore.ErrorLevel
	case l >= slog.LevelWarn:
		return zapcore.WarnLevel
	default:
		return zapcore.DebugLevel
	}
}
