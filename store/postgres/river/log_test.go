package river

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestWhatRiverSaysIsLogged(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	log := slog.New(&logHandler{to: zap.New(core)}).With("client", "c1")
	log.Debug("fetched")
	log.Info("cleaned", slog.Int("jobs", 3))
	log.Warn("late")
	log.WithGroup("").WithGroup("job").Error("lost", "err", errors.New("gone").Error(), slog.Group("row", "id", 7))
	type entry struct {
		Level   zapcore.Level
		Message string
		Fields  map[string]any
	}
	var got []entry
	for _, e := range logs.All() {
		got = append(got, entry{e.Level, e.Message, e.ContextMap()})
	}
	want := []entry{
		{zapcore.DebugLevel, "fetched", map[string]any{"client": "c1"}},
		{zapcore.DebugLevel, "cleaned", map[string]any{"client": "c1", "jobs": int64(3)}},
		{zapcore.WarnLevel, "late", map[string]any{"client": "c1"}},
		{zapcore.ErrorLevel, "lost", map[string]any{"client": "c1", "job": map[string]any{"err": "gone", "row": map[string]any{"id": int64(7)}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatNobodyLogsIsNotMade(t *testing.T) {
	core, _ := observer.New(zapcore.WarnLevel)
	h := &logHandler{to: zap.New(core)}
	for level, want := range map[slog.Level]bool{
		slog.LevelDebug: false, slog.LevelInfo: false, slog.LevelWarn: true, slog.LevelError: true,
	} {
		if got := h.Enabled(t.Context(), level); got != want {
			t.Errorf("%v is enabled: %v", level, got)
		}
	}
}
