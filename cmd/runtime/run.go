package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/spf13/cobra"
)

// maxPrompt bounds a prompt read from standard input, in bytes.
const maxPrompt = 4 << 20

func newRun(p *program) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "run FILE AGENT [PROMPT]",
		Short: "Run one turn of an agent",
		Long: `run gives an agent a prompt and shows what it does: its text on standard
output as it comes, its progress on standard error. A prompt of "-", or none,
is read from standard input.

Exit codes: 0 done, 1 the run failed, 2 usage or a file that cannot be read,
130 cancelled.`,
		Args: arguments(2, 3),
	}
	format := formatFlag(cmd, "text", "json", "events")
	approve := &choice{value: approveAuto, allowed: []string{approveAuto, approveAsk, approveYes, approveNo}}
	cmd.Flags().Var(approve, "approve", "how questions are answered: auto (asked when standard input is a terminal), ask, yes, no")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show the runtime's log on standard error")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log := &logOutput{out: p.err}
		l, err := p.load(args[:1], true, newLogger(log, verbose))
		if err != nil {
			return err
		}
		log.redact = l.file.Redact
		prompt, err := promptOf(cmd.Context(), args[2:], p.in)
		if err != nil {
			return err
		}
		a := newAnswerer(p.streams, approve.value, l.file.Redact)
		if !interactive(approve.value, len(args) < 3 || args[2] == "-", p.in) {
			a = nil
		}
		return runTurn(cmd.Context(), p, l, runtime.Prompt(args[1], prompt), format.value, a)
	}
	return cmd
}

// promptOf returns the prompt that is among the arguments, or else comes from
// standard input.
func promptOf(ctx context.Context, args []string, in io.Reader) (string, error) {
	text := ""
	if len(args) > 0 && args[0] != "-" {
		text = args[0]
	} else {
		data, err := readPrompt(ctx, in)
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(data), "\r\n")
	}
	switch {
	case len(text) > maxPrompt:
		return "", fmt.Errorf("the prompt is larger than %d bytes", maxPrompt)
	case strings.TrimSpace(text) == "":
		return "", errors.New("there is no prompt: give one as the last argument or on standard input")
	}
	return text, nil
}

// readPrompt reads standard input, until ctx ends at the latest.
func readPrompt(ctx context.Context, in io.Reader) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, maxPrompt+2))
		read <- input{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-read:
		if got.err != nil {
			return nil, fmt.Errorf("read the prompt: %w", got.err)
		}
		return got.data, nil
	}
}

// runTurn runs a turn; an answerer that is nil answers nothing.
func runTurn(ctx context.Context, p *program, l *loaded, req runtime.Request, format string, a *answerer) error {
	defer l.close()
	l.builder.LearnTools(ctx)
	_, list, err := l.check(ctx)
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return failed(l.refuse(list, p.err))
	}
	rt, err := l.builder.BuildUnchecked() // check was the dry run
	if err != nil {
		return err
	}
	defer func() { _ = rt.Close() }() // of what was published since, too
	out := &show{streams: p.streams, format: format, redact: l.file.Redact}
	result, err := await(ctx, rt, req, out, a)
	if result == nil && ctx.Err() == nil {
		if found := diag.FromError(err); len(found) > 0 {
			return failed(l.refuse(l.file.Complete(found, nil), p.err))
		}
	}
	if closing := out.close(result); closing != nil {
		return closing
	}
	switch {
	case result == nil:
		return err
	case result.Status == event.StatusCanceled:
		fmt.Fprintln(p.err, "runtime: cancelled")
		return exit{exitCancelled}
	case err != nil || result.Status != event.StatusSucceeded:
		fmt.Fprintf(p.err, "runtime: %s\n", l.file.Redact(failure(result, err)))
		return exit{exitFailed}
	}
	return nil
}

// await runs a turn to its end, answering what it waits for if somebody does.
func await(ctx context.Context, rt *runtime.AgentRuntime, req runtime.Request, out event.Sink, a *answerer) (*runtime.Result, error) {
	if a == nil {
		return rt.Run(ctx, req, out)
	}
	turn, err := rt.Start(ctx, req, event.SinkFunc(func(ev event.Event) {
		out.Emit(ev)
		a.Emit(ev)
	}))
	if err != nil {
		return nil, err
	}
	a.run(ctx, turn)
	return turn.Wait(context.WithoutCancel(ctx))
}

// failed is the end of a command that has shown why it fails; err says that
// showing it failed.
func failed(err error) error {
	if err != nil {
		return err
	}
	return exit{exitFailed}
}

func failure(result *runtime.Result, err error) string {
	if err != nil {
		return err.Error()
	}
	if len(result.Tickets) == 0 {
		return fmt.Sprintf("the turn is %s: %s", result.Status, result.Termination.Type)
	}
	text := "the turn waits for a person, and this command cannot ask one"
	for _, ticket := range result.Tickets {
		text += "\n  " + cmp.Or(ticket.Message, ticket.Action)
	}
	return text
}

// show writes a turn in one of the formats as it goes on. What the model writes
// is shown as it is; in everything else hidden values are redacted.
type show struct {
	streams
	format string
	redact func(string) string
	// line tells that text was written and its line is not ended yet.
	line bool
	err  error
}

// Emit shows one event.
func (o *show) Emit(ev event.Event) {
	switch o.format {
	case "events":
		o.event(ev)
	case "text":
		o.text(ev.Data)
	}
}

func (o *show) event(ev event.Event) {
	redact := o.redact
	switch d := ev.Data.(type) {
	case *event.TextDelta, *event.ReasoningDelta, *event.ReasoningEncrypted, *event.ToolCallDelta, *event.ToolCallReady:
		redact = nil
	case *event.RunFinish:
		clean := *d
		clean.Termination.Detail = redact(d.Termination.Detail)
		ev.Data, redact = &clean, nil
	}
	data, err := json.Marshal(ev)
	if err != nil {
		o.keep(err)
		return
	}
	if redact != nil {
		data = redactJSON(data, redact)
	}
	o.write(string(data) + "\n")
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
		o.progress("→ %s %s", d.Name, o.clip(string(d.Arguments)))
	case *event.ToolCallStreamDelta:
		o.progress("  %s: %s", d.Name, o.clip(d.Delta))
	case *event.ToolCallDone:
		o.progress("← %s %s (%d ms): %s", d.Name, d.Outcome, d.DurationMS, o.clip(d.Result.Text()))
	}
}

// progress writes a line to standard error.
func (o *show) progress(format string, args ...any) {
	fmt.Fprintf(o.streams.err, format+"\n", args...)
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
	// Tickets are what a turn waits for that did not end.
	Tickets []*plugins.Ticket `json:"tickets,omitempty"`
}

// close ends what was shown. The error says that showing failed.
func (o *show) close(result *runtime.Result) error {
	o.endLine()
	if o.format == "json" && result != nil {
		end := result.Termination
		end.Detail = o.redact(end.Detail)
		o.keep(writeJSON(o.out, outcome{
			TurnID: result.TurnID, Agent: result.Agent, Status: result.Status, Termination: end,
			Response: result.Response, Steps: result.Steps, Usage: result.Usage, Tickets: result.Tickets,
		}))
	}
	if o.err != nil {
		return fmt.Errorf("write the output: %w", o.err)
	}
	return nil
}

// clip redacts text and shortens it to one line for progress.
func (o *show) clip(text string) string {
	const limit = 120
	text = strings.Join(strings.Fields(o.redact(text)), " ")
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit]) + "…"
	}
	return text
}
