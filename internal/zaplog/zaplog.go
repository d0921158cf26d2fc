// Package zaplog passes the runtime's logger to components as a *slog.Logger, so that authors of
// tools and plugins need no logging library.
package zaplog

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New returns a logger that writes its records to base.
func New(base *zap.Logger) *slog.Logger { return slog.New(&handler{logger: base}) }

// handler writes records to a zap logger.
type handler struct {
	logger *zap.Logger
	// groups are the open groups that are still empty: empty groups are not written.
	groups []string
}

// Enabled reports whether the logger writes a level.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.logger.Core().Enabled(zapLevel(level))
}

// Handle writes a record.
func (h *handler) Handle(_ context.Context, record slog.Record) error {
	entry := h.logger.Check(zapLevel(record.Level), record.Message)
	if entry == nil {
		return nil
	}
	if !record.Time.IsZero() {
		entry.Time = record.Time
	}
	fields := make([]zap.Field, 0, record.NumAttrs())
	record.Attrs(func(a slog.Attr) bool {
		fields = appendField(fields, a)
		return true
	})
	entry.Write(h.inGroups(fields)...)
	return nil
}

// WithAttrs returns a handler that adds attributes to each record.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := fieldsOf(attrs)
	if len(fields) == 0 {
		return h
	}
	return &handler{logger: h.logger.With(h.inGroups(fields)...)}
}

// WithGroup returns a handler that puts further attributes into a group.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{logger: h.logger, groups: append(slices.Clip(h.groups), name)}
}

// inGroups puts fields into the open groups.
func (h *handler) inGroups(fields []zap.Field) []zap.Field {
	if len(fields) == 0 || len(h.groups) == 0 {
		return fields
	}
	all := make([]zap.Field, 0, len(h.groups)+len(fields))
	for _, name := range h.groups {
		all = append(all, zap.Namespace(name))
	}
	return append(all, fields...)
}

// zapLevel returns the highest zap level that is not above a slog level.
func zapLevel(level slog.Level) zapcore.Level {
	switch {
	case level >= slog.LevelError:
		return zapcore.ErrorLevel
	case level >= slog.LevelWarn:
		return zapcore.WarnLevel
	case level >= slog.LevelInfo:
		return zapcore.InfoLevel
	default:
		return zapcore.DebugLevel
	}
}

func fieldsOf(attrs []slog.Attr) []zap.Field {
	fields := make([]zap.Field, 0, len(attrs))
	for _, a := range attrs {
		fields = appendField(fields, a)
	}
	return fields
}

// appendField appends an attribute: nothing for an empty one, and the members of an unnamed group.
func appendField(fields []zap.Field, a slog.Attr) []zap.Field {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		members := fieldsOf(v.Group())
		switch {
		case len(members) == 0:
			return fields
		case a.Key == "":
			return append(fields, members...)
		}
		return append(fields, zap.Dict(a.Key, members...))
	case slog.KindBool:
		return append(fields, zap.Bool(a.Key, v.Bool()))
	case slog.KindDuration:
		return append(fields, zap.Duration(a.Key, v.Duration()))
	case slog.KindFloat64:
		return append(fields, zap.Float64(a.Key, v.Float64()))
	case slog.KindInt64:
		return append(fields, zap.Int64(a.Key, v.Int64()))
	case slog.KindString:
		return append(fields, zap.String(a.Key, v.String()))
	case slog.KindTime:
		return append(fields, zap.Time(a.Key, v.Time()))
	case slog.KindUint64:
		return append(fields, zap.Uint64(a.Key, v.Uint64()))
	default:
		if a.Key == "" && v.Any() == nil {
			return fields
		}
		return append(fields, zap.Any(a.Key, v.Any()))
	}
}
