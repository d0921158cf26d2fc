package cli

import (
	"io"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// The values of --log-format.
const (
	logJSON = "json"
	logText = "text"
)

// logFormatFlag adds --log-format.
func logFormatFlag(cmd *cobra.Command) *choice {
	c := &choice{allowed: []string{logJSON, logText}}
	cmd.Flags().Var(c, "log-format", "format of the log: json, text (default text on a terminal, json elsewhere)")
	return c
}

// newLogOutput returns where the log goes, in a format: the one that is chosen, or
// else text on a terminal and JSON elsewhere.
func newLogOutput(out io.Writer, format *choice) *logOutput {
	o := &logOutput{out: out, format: format.value}
	if f, ok := fileOf(out); o.format == "" && ok && term.IsTerminal(int(f.Fd())) {
		o.format = logText
	}
	if o.format == "" {
		o.format = logJSON
	}
	return o
}

// newLogger returns the logger of a turn. What plugins and tools log is shown;
// what the runtime itself logs, which repeats what is shown anyway, only with
// verbose.
func newLogger(out *logOutput, verbose bool) *zap.Logger {
	level := zapcore.InfoLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder := zapcore.NewConsoleEncoder(config)
	if out.format == logJSON {
		config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		config.TimeKey, config.MessageKey = "time", "message"
		encoder = zapcore.NewJSONEncoder(config)
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), level)
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
	out    io.Writer
	format string
	// redact is set before anything is logged.
	redact func(string) string
}

// Write writes a line of the log.
func (o *logOutput) Write(line []byte) (int, error) {
	text := line
	switch {
	case o.redact == nil:
	case o.format == logJSON:
		text = redactLogLine(line, o.redact)
	default:
		text = []byte(o.redact(string(line)))
	}
	if _, err := o.out.Write(text); err != nil {
		return 0, err
	}
	return len(line), nil
}
