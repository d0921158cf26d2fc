// Package turnview shows the events of turns as text: as the progress of a run, a log or a
// transcript.
package turnview

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
)

// Printer writes a turn's progress in one of the formats. Text from the model is shown as it is;
// hidden values are redacted in everything else.
type Printer struct {
	terminal.Streams
	format string
	// Redact hides secrets.
	Redact func(string) string
	// quiet shows only answers, questions and warnings.
	quiet bool
	// Screen shows running tools, or nil.
	Screen *Screen
	// delegates shows delegates in text.
	delegates Delegates[*Printer]
	// line is set after text without a line end, and broken if that text is incomplete on the
	// screen.
	line, broken bool
	failed       error
}

// Emit shows one event.
func (o *Printer) Emit(ev event.Event) {
	switch o.format {
	case "events":
		o.event(ev)
	case "text":
		if len(ev.Path) > 0 {
			o.delegate(ev)
			return
		}
		o.text(ev.Data)
		o.Screen.Emit(ev.Data)
	}
}

// delegate shows an event of a delegate on standard error.
func (o *Printer) delegate(ev event.Event) {
	record, err := event.NewRecord(ev)
	if err != nil {
		o.keep(err)
		return
	}
	view := o.delegates.View(&record)
	view.Shown.text(ev.Data)
	if record.Type == event.TypeRunFinish {
		view.Shown.EndLine()
	}
}

// NewPrinter returns a printer that writes to a command's streams; set Redact before using it. Other
// output to standard error must use its stream.
func NewPrinter(s terminal.Streams, format string, quiet bool) *Printer {
	o := &Printer{Streams: s, format: format, quiet: quiet}
	if format == "text" && !quiet {
		o.Screen = newScreen(s.Err)
		o.Err = o.Screen
	}
	o.delegates = Delegates[*Printer]{out: o.Err, Open: func(out io.Writer) *Printer {
		return &Printer{Streams: terminal.Streams{Out: out, Err: out}, format: format, Redact: o.Redact}
	}}
	return o
}

func (o *Printer) event(ev event.Event) {
	redact := o.Redact
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
		data = redaction.JSON(data, redact)
	}
	o.write(string(data) + "\n")
}

func (o *Printer) text(data event.Data) {
	switch d := data.(type) {
	case *event.TextDelta:
		o.write(d.Delta)
		o.line, o.broken = !strings.HasSuffix(d.Delta, "\n"), false
	case *event.InferenceComplete:
		if d.FinishReason != model.FinishMaxTokens { // else it is continued
			o.EndLine()
		}
	case *event.StepEnd:
		o.EndLine()
	case *event.ToolCallReady:
		o.EndLine()
		o.Work("→ %s %s", d.Name, o.clip(string(d.Arguments)))
	case *event.ToolCallStreamDelta:
		o.Work("  %s: %s", d.Name, o.clip(d.Delta))
	case *event.ToolCallDone:
		o.Work("← %s %s (%d ms): %s", d.Name, d.Outcome, d.DurationMS, o.clip(d.Result.Text()))
	case *event.Handoff:
		o.Work("⇒ agent %s hands the conversation to agent %s", d.From, d.To)
	case *event.ActivitySnapshot:
		if delegate, ok := d.Delegate(); ok && delegate.State != event.DelegateRunning {
			o.Work("⇄ delegate %s", o.clip(delegate.String()))
		}
	case *event.StreamReset:
		o.EndLine()
		o.progress("! the answer shown so far is discarded: %s", o.clip(d.Reason))
	default:
		if note := o.note(data); note != "" {
			o.aside("! %s", note)
		}
	}
}

// note describes an event, except answers and calls, in one line; empty if it is not worth showing.
func (o *Printer) note(data event.Data) string {
	switch d := data.(type) {
	case *event.ModelRetry:
		return retryNote(d)
	case *event.ToolCallCancel:
		return fmt.Sprintf("the call of %s is withdrawn: %s", d.Name, o.clip(d.Reason))
	case *event.LoopDetected:
		return loopNote(d)
	case *event.ToolBudgetExceeded:
		return fmt.Sprintf("call %d of %s is not executed: the limit of a turn is %d", d.Call, d.Tool, d.MaxCalls)
	case *event.ToolCallsOmitted:
		return fmt.Sprintf("%d more calls of the answer are not made: the limit is %d", d.Omitted, d.MaxCalls)
	case *event.ContextTrimmed:
		return trimNote(d)
	case *event.ContextCompacted:
		if d.Outcome == event.CompactionDone {
			return fmt.Sprintf("%s summarized: %d tokens became %d", terminal.Count(d.Messages, "message is", "messages are"), d.Before, d.After)
		}
		return fmt.Sprintf("%s not summarized (%s): %s", terminal.Count(d.Messages, "message is", "messages are"), d.Outcome, o.clip(d.Reason))
	default:
		return ""
	}
}

func retryNote(d *event.ModelRetry) string {
	wait := time.Duration(d.WaitMS) * time.Millisecond
	switch model.RecoveryPlan(d.Plan) {
	case "":
		return fmt.Sprintf("the model call failed (%s); attempt %d follows (after %s)", d.Class, d.Attempt+1, wait)
	case model.KeepToolCalls:
		return fmt.Sprintf("the answer broke off (%s): its complete calls are made", d.Class)
	case model.ContinueText:
		return fmt.Sprintf("the answer broke off (%s): it continues where it stopped (after %s)", d.Class, wait)
	case model.DropToolCall:
		return fmt.Sprintf("the answer broke off (%s): it continues without the incomplete call (after %s)", d.Class, wait)
	default:
		return fmt.Sprintf("the answer broke off (%s): it starts again (after %s)", d.Class, wait)
	}
}

func trimNote(d *event.ContextTrimmed) string {
	var parts []string
	if d.Dropped > 0 {
		parts = append(parts, terminal.Count(d.Dropped, "message", "messages")+" left out")
	}
	if d.Previews > 0 {
		parts = append(parts, terminal.Count(d.Previews, "result", "results")+" shortened")
	}
	return fmt.Sprintf("the request was cut from %d to %d tokens of %d: %s", d.Before, d.After, d.Limit, strings.Join(parts, ", "))
}

func loopNote(d *event.LoopDetected) string {
	next := "they are not executed"
	if d.HardCutoff {
		next = "the model has to answer without tools"
	}
	return fmt.Sprintf("the same calls were repeated %d times in a row (%s): %s", d.Count, strings.Join(d.Tools, ", "), next)
}

// Work writes a line about the agent's work to standard error, unless quiet is set.
func (o *Printer) Work(format string, args ...any) {
	if !o.quiet {
		o.progress(format, args...)
	}
}

// progress writes a line to standard error.
func (o *Printer) progress(format string, args ...any) {
	fmt.Fprintln(o.Err, terminal.OneLine(fmt.Sprintf(format, args...)))
}

// aside writes a line to standard error without breaking the line of an unfinished answer.
func (o *Printer) aside(format string, args ...any) {
	if o.line && !o.broken {
		fmt.Fprintln(o.Err)
		o.broken = true
	}
	o.progress(format, args...)
}

// EndLine ends an open line of text.
func (o *Printer) EndLine() {
	if o.line {
		o.write("\n")
		o.line = false
	}
}

func (o *Printer) write(text string) {
	o.Screen.clear() // possibly on the same terminal
	_, err := io.WriteString(o.Out, text)
	o.keep(err)
}

func (o *Printer) keep(err error) {
	if o.failed == nil {
		o.failed = err
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
	// Cost is omitted if no model has a price.
	Cost *event.Cost `json:"cost,omitempty"`
	// Agents breaks usage and cost down by agent, if there were several.
	Agents event.AgentUsages `json:"agents,omitempty"`
	// FinishReason is why the last answer ended.
	FinishReason model.FinishReason `json:"finish_reason,omitempty"`
	// Artifacts counts results too large for the conversation.
	Artifacts int `json:"artifacts,omitempty"`
	// Interactions are a waiting turn's open interactions.
	Interactions json.RawMessage `json:"tickets,omitempty"`
}

// Close ends the output. It fails if writing failed.
func (o *Printer) Close(result *runtime.Result) error {
	o.Screen.Close()
	o.EndLine()
	o.keep(o.delegates.flush())
	switch {
	case result == nil:
	case o.format == "json":
		o.keep(redaction.WriteJSON(o.Out, o.outcome(result)))
	case o.format == "text" && result.FinishReason == model.FinishMaxTokens:
		o.progress("! the answer is incomplete: the output limit cut it off")
	case o.format == "text" && result.FinishReason == model.FinishContentFilter:
		o.progress("! the answer is incomplete: the vendor's content filter cut it off")
	case o.format == "text" && result.Termination.CutShort() && result.Response != "":
		o.progress("! the answer is incomplete: the turn was stopped (%s: %s)", result.Termination.Code, o.Redact(result.Termination.Detail))
	}
	if o.format == "text" && result != nil {
		o.Work("%s", Summary(result))
	}
	if o.failed != nil {
		return fmt.Errorf("write the output: %w", o.failed)
	}
	return nil
}

// Summary summarizes a turn in a line: its steps and, if known, its tokens and cost.
func Summary(r *runtime.Result) string {
	text := "= " + terminal.Count(r.Steps, "step", "steps")
	if n := r.Usage.Total(); n > 0 {
		text += fmt.Sprintf(", %s (%d in, %d out)", terminal.Count(n, "token", "tokens"), r.Usage.Input, r.Usage.Output)
	}
	if r.Cost != nil {
		text += ", " + r.Cost.String()
	}
	return text
}

func (o *Printer) outcome(r *runtime.Result) outcome {
	out := outcome{
		TurnID: r.TurnID, Agent: r.Agent, Status: r.Status, Termination: r.Termination,
		Response: r.Response, Steps: r.Steps, Usage: r.Usage,
		Cost: r.Cost, Agents: r.Agents, FinishReason: r.FinishReason, Artifacts: len(r.Artifacts),
	}
	out.Termination.Detail = o.Redact(out.Termination.Detail)
	if len(r.Interactions) > 0 {
		interactions, err := json.Marshal(r.Interactions)
		o.keep(err)
		out.Interactions = redaction.JSON(interactions, o.Redact)
	}
	return out
}

// clip redacts text and shortens it to one line for progress.
func (o *Printer) clip(text string) string {
	const limit = 120
	text = strings.Join(strings.Fields(terminal.OneLine(o.Redact(text))), " ")
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit]) + "…"
	}
	return text
}
