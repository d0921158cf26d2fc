package main

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns the logger of a turn. What plugins and tools log is shown;
// what the runtime itself logs, which repeats what is shown anyway, only with
// verbose.
func newLogger(out *logOutput, verbose bool) *zap.Logger {
	level := zapcore.InfoLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(encoder), zapcore.Lock(zapcore.AddSync(out)), level)
	if !verbose {
		core = named{core}
	}
	return zap.New(core)
}

// named drops what is logged under no name.
type named struct{ zapcore.Core }

// Check adds the core to the entry if it has a name.
func (n named) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.LoggerName == "" {
		return checked
	}
	return n.Core.Check(entry, checked)
}

// With returns the core with fields added.
func (n named) With(fields []zapcore.Field) zapcore.Core { return named{n.Core.With(fields)} }

// logOutput redacts what is logged.
type logOutput struct {
	out io.Writer
	// redact is set before anything is logged.
	redact func(string) string
}

// Write writes a line of the log.
func (o *logOutput) Write(line []byte) (int, error) {
	text := line
	if o.redact != nil {
		text = []byte(o.redact(string(line)))
	}
	if _, err := o.out.Write(text); err != nil {
		return 0, err
	}
	return len(line), nil
}
