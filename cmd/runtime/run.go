package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// maxPrompt bounds a prompt read from standard input, in bytes.
const maxPrompt = 4 << 20

func newRun(s streams) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "run FILE AGENT [PROMPT]",
		Short: "Run one turn of an agent",
		Long: `run gives an agent a prompt and shows what it does: its text on standard
output as it comes, its progress on standard error. A prompt of "-", or none,
is read from standard input.

Exit codes: 0 done, 1 the run failed, 2 usage or a file that cannot be read,
130 cancelled.`,
		Args: cobra.RangeArgs(2, 3),
	}
	format := formatFlag(cmd, "text", "json", "events")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show the runtime's log on standard error")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		prompt, err := promptOf(args, s.in)
		if err != nil {
			return err
		}
		l, err := load(args[:1], true, newLogger(s.err, verbose))
		if err != nil {
			return err
		}
		return runTurn(cmd.Context(), s, l, args[1], prompt, format.value)
	}
	return cmd
}

func promptOf(args []string, in io.Reader) (string, error) {
	const position = 2
	if len(args) > position && args[position] != "-" {
		return args[position], nil
	}
	data, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the prompt: %w", err)
	case len(data) > maxPrompt:
		return "", fmt.Errorf("the prompt is larger than %d bytes", maxPrompt)
	case len(bytes.TrimSpace(data)) == 0:
		return "", fmt.Errorf("there is no prompt: give one as the last argument or on standard input")
	}
	return strings.TrimRight(string(data), "\n"), nil
}

func newLogger(w io.Writer, verbose bool) *zap.Logger {
	level := zapcore.InfoLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(encoder), zapcore.Lock(zapcore.AddSync(w)), level))
}

func runTurn(ctx context.Context, s streams, l *loaded, agent, prompt, format string) error {
	_, list := l.check(ctx)
	if list.HasErrors() {
		if err := l.refuse(list, s.err); err != nil {
			return err
		}
		return exit{exitFailed}
	}
	rt, err := l.builder.Build()
	if err != nil {
		return err
	}
	out := newShow(s, format)
	result, err := rt.Run(ctx, runtime.Prompt(agent, prompt), out)
	if closing := out.close(result, err); closing != nil {
		return closing
	}
	switch {
	case result != nil && result.Status == event.StatusCanceled:
		return exit{exitCancelled}
	case err != nil || result.Status != event.StatusSucceeded:
		fmt.Fprintf(s.err, "runtime: %s\n", l.file.Redact(failure(result, err)))
		return exit{exitFailed}
	}
	return nil
}

func failure(result *runtime.Result, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("the turn is %s: %s", result.Status, result.Termination.Type)
}

// show writes a turn in one of the formats as it goes on.
type show struct {
	streams
	format string
	// line tells that text was written and its line is not ended yet.
	line bool
	err  error
}

func newShow(s streams, format string) *show { return &show{streams: s, format: format} }

// Emit shows one event.
func (o *show) Emit(ev event.Event) {
	switch o.format {
	case "events":
		data, err := json.Marshal(ev)
		if err != nil {
			o.keep(err)
			return
		}
		o.write(string(data) + "\n")
	case "text":
		o.text(ev.Data)
	}
}

func (o *show) text(data event.Data) {
	switch d := data.(type) {
	case *event.TextDelta:
		o.write(d.Delta)
		o.line = !strings.HasSuffix(d.Delta, "\n")
	case *event.StepEnd:
		o.endLine()
	case *event.ToolCallReady:
		o.endLine()
		fmt.Fprintf(o.streams.err, "→ %s %s\n", d.Name, clip(string(d.Arguments)))
	case *event.ToolCallStreamDelta:
		fmt.Fprintf(o.streams.err, "  %s: %s\n", d.Name, clip(d.Delta))
	case *event.ToolCallDone:
		fmt.Fprintf(o.streams.err, "← %s %s (%d ms): %s\n", d.Name, d.Outcome, d.DurationMS, clip(d.Result.Text()))
	}
}

func (o *show) endLine() {
	if o.line {
		o.write("\n")
		o.line = false
	}
}

func (o *show) write(text string) {
	_, err := io.WriteString(o.out, text)
	o.keep(err)
}

func (o *show) keep(err error) {
	if o.err == nil {
		o.err = err
	}
}

// outcome is the JSON form of a turn.
type outcome struct {
	TurnID      string            `json:"turn_id"`
	Agent       string            `json:"agent"`
	Status      event.Status      `json:"status"`
	Termination event.Termination `json:"termination"`
	Response    string            `json:"response"`
	Steps       int               `json:"steps"`
	Usage       model.Usage       `json:"usage"`
}

// close ends what was shown. The error says that showing failed.
func (o *show) close(result *runtime.Result, _ error) error {
	o.endLine()
	if o.format == "json" && result != nil {
		enc := json.NewEncoder(o.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		o.keep(enc.Encode(outcome{
			TurnID: result.TurnID, Agent: result.Agent, Status: result.Status, Termination: result.Termination,
			Response: result.Response, Steps: result.Steps, Usage: result.Usage,
		}))
	}
	if o.err != nil {
		return fmt.Errorf("write the output: %w", o.err)
	}
	return nil
}

// clip shortens text to one line for progress.
func clip(text string) string {
	const limit = 120
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit]) + "…"
	}
	return text
}
