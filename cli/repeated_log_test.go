package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// TestRepeatedLinesAreCounted fails like a server whose database is unavailable for two minutes.
func TestRepeatedLinesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := newLogger(newLogOutput(&out, &command.Choice{Value: logJSON}), false)
		const total = 1100
		for i := range total {
			logger.Named("store").With(zap.Int("n", i)).Warn("the store is gone", zap.String("turn", "t"))
			logger.Named("store").Info("still here")
			time.Sleep(2 * time.Minute / total)
		}
		logger.Named("other").Warn("the store is gone")
		_ = logger.Sync()
		written, counted, infos := 0, 0, 0
		for line := range strings.Lines(out.String()) {
			var read struct {
				Level, Logger, Turn string
				Repeated            int
			}
			if err := json.Unmarshal([]byte(line), &read); err != nil {
				t.Fatal(err)
			}
			switch {
			case read.Level == "info":
				infos++
			case read.Logger == "store" && read.Turn == "t":
				written++
				counted += max(read.Repeated, 1)
			}
		}
		if written > 40 || counted != total || infos != total {
			t.Errorf("%d lines count %d failures, want %d; %d of info", written, counted, total, infos)
		}
		if !strings.Contains(out.String(), `"logger":"other"`) {
			t.Error("another logger is held back")
		}
	})
}

func TestManyMessagesAreForgotten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := newLogger(newLogOutput(&out, &command.Choice{Value: logJSON}), false)
	for i := range 3 * maxRepeated {
		logger.Warn(strings.Repeat("x", i))
	}
	core, ok := logger.Core().(*repeatedCore)
	if !ok || len(core.lines.lines) > maxRepeated || strings.Count(out.String(), "\n") != 3*maxRepeated {
		t.Errorf("%d messages are kept", len(core.lines.lines))
	}
}

// TestFailuresOfEveryLoggerAreLogged covers loggers without a name, whose output was dropped.
func TestFailuresOfEveryLoggerAreLogged(t *testing.T) {
	t.Parallel()
	for _, level := range []zapcore.Level{zapcore.InfoLevel, zapcore.WarnLevel, zapcore.ErrorLevel} {
		for _, name := range []string{"", "turn", "service", "a.b"} {
			var out, ofRun bytes.Buffer
			newLogger(newLogOutput(&out, &command.Choice{Value: logJSON}), false).Named(name).Log(level, "broken")
			newCommandLogger(newLogOutput(&ofRun, &command.Choice{Value: logJSON}), false).Named(name).Log(level, "broken")
			if out.Len() == 0 {
				t.Errorf("%s of %q is not logged", level, name)
			}
			shown := name == "turn" || name == "" && level == zapcore.InfoLevel // by the command itself
			if (ofRun.Len() > 0) == shown {
				t.Errorf("run logs of %q: %q", name, ofRun.String())
			}
		}
	}
}
