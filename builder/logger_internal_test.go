package builder

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/slogtest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestTheHandlerFollowsItsContract omits one rule: zap writes its own time for a record without a
// time.
func TestTheHandlerFollowsItsContract(t *testing.T) {
	t.Parallel()
	var out *bytes.Buffer
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		if t.Name() == "TestTheHandlerFollowsItsContract/zero-time" {
			t.Skip("zap writes a time of its own")
		}
		out = new(bytes.Buffer)
		encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{
			TimeKey: slog.TimeKey, LevelKey: slog.LevelKey, MessageKey: slog.MessageKey,
			EncodeTime: zapcore.RFC3339TimeEncoder, EncodeLevel: zapcore.CapitalLevelEncoder,
		})
		return newSlog(zap.New(zapcore.NewCore(encoder, zapcore.AddSync(out), zapcore.DebugLevel))).Handler()
	}, func(t *testing.T) map[string]any {
		var record map[string]any
		if err := json.Unmarshal(out.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		return record
	})
}

func TestValuesAreWrittenAsZapWritesThem(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	now := time.Unix(1, 0)
	newSlog(zap.New(core).Named("tool.x")).Warn("broken", "error", errors.New("no route"), "took", time.Second, "n", 3,
		"u", uint64(4), "f", 1.5, "ok", true, "at", now, "level", zap.InfoLevel)
	entry := logs.All()[0]
	if entry.LoggerName != "tool.x" || entry.Level != zap.WarnLevel {
		t.Errorf("the entry is of %q at %s", entry.LoggerName, entry.Level)
	}
	want := []zap.Field{zap.Error(errors.New("no route")), zap.Duration("took", time.Second), zap.Int64("n", 3), zap.Uint64("u", 4),
		zap.Float64("f", 1.5), zap.Bool("ok", true), zap.Time("at", now), zap.Stringer("level", zap.InfoLevel)}
	for i, f := range want {
		if got := entry.Context[i]; !got.Equals(f) {
			t.Errorf("field %d is %+v, want %+v", i, got, f)
		}
	}
}

func TestLevelsAreTheNextLowerOnes(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]zapcore.Level{
		slog.LevelDebug - 4: zap.DebugLevel, slog.LevelDebug: zap.DebugLevel, slog.LevelInfo - 1: zap.DebugLevel, slog.LevelInfo: zap.InfoLevel,
		slog.LevelWarn: zap.WarnLevel, slog.LevelError - 1: zap.WarnLevel, slog.LevelError: zap.ErrorLevel, slog.LevelError + 4: zap.ErrorLevel,
	} {
		core, logs := observer.New(want)
		logger := newSlog(zap.New(core))
		if !logger.Enabled(t.Context(), level) {
			t.Errorf("%s is off where %s is on", level, want)
		}
		logger.Log(t.Context(), level, "said")
		if all := logs.All(); len(all) != 1 || all[0].Level != want {
			t.Errorf("%s gives %v, want one entry at %s", level, all, want)
		}
		core, _ = observer.New(want + 1)
		if newSlog(zap.New(core)).Enabled(t.Context(), level) {
			t.Errorf("%s is on where %s is off", level, want)
		}
	}
}
