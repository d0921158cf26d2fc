package cli

import (
	"cmp"
	"io"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
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

// logFlags are the flags of the log.
type logFlags struct {
	format  command.Choice
	verbose bool
}

// addFlags adds --verbose and --log-format.
func (o *logFlags) addFlags(cmd *cobra.Command) {
	o.format.Allowed = []string{logJSON, logText}
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show the runtime's log on standard error")
	cmd.Flags().Var(&o.format, "log-format", "format of the log: json, text (default text on a terminal, json elsewhere)")
}

// newLogOutput returns the log's output in the chosen format. The default is text on a terminal
// and JSON elsewhere.
func newLogOutput(out io.Writer, format *command.Choice) *logOutput {
	usual := logJSON
	if f, ok := terminal.FileOf(out); ok && term.IsTerminal(int(f.Fd())) {
		usual = logText
	}
	return &logOutput{out: out, format: cmp.Or(format.Value, usual)}
}

// newLogger returns a server's logger. It logs at info level and above, with verbose also at debug.
// Repeated warnings and errors are counted; Sync writes the ones held back.
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
	return zap.New(limitRepeated(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), level)))
}

// newCommandLogger returns the logger of a command that shows its progress. Without verbose it
// omits what the command shows: how a turn ended, and the runtime's messages below warning level.
func newCommandLogger(out *logOutput, verbose bool) *zap.Logger {
	logger := newLogger(out, verbose)
	if verbose {
		return logger
	}
	return logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return withoutShown{core} }))
}

// withoutShown drops entries that the command shows itself.
type withoutShown struct{ zapcore.Core }

// Check adds the core to the entry unless the command shows it.
func (w withoutShown) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.LoggerName == "turn" || entry.LoggerName == "" && entry.Level < zapcore.WarnLevel {
		return checked
	}
	return w.Core.Check(entry, checked)
}

// With returns the core with fields added.
func (w withoutShown) With(fields []zapcore.Field) zapcore.Core {
	return withoutShown{w.Core.With(fields)}
}

// logOutput redacts log lines.
type logOutput struct {
	out    io.Writer
	format string
	// redact must be set before anything is logged.
	redact func(string) string
}

// Write writes a line of the log.
func (o *logOutput) Write(line []byte) (int, error) {
	text := line
	switch {
	case o.redact == nil:
	case o.format == logJSON:
		text = redaction.LogLine(line, o.redact)
	default:
		text = []byte(o.redact(string(line)))
	}
	if _, err := o.out.Write(text); err != nil {
		return 0, err
	}
	return len(line), nil
}
