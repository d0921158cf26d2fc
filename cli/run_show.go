package cli

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

// show writes a turn's progress in one of the formats. Text from the model is shown as it is;
// hidden values are redacted in everything else.
type show struct {
	terminal.Streams
	format string
	redact func(string) string
	// quiet shows only answers, questions and warnings.
	quiet bool
	// screen shows running tools, or nil.
	screen *screen
	// delegates shows delegates in text.
	delegates delegateViews[*show]
	// line is set after text without a line end, and broken if that text is incomplete on the
	// screen.
	line, broken bool
	failed       error
}

// Emit shows one event.
func (o *show) Emit(ev event.Event) {
	switch o.format {
	case "events":
		o.event(ev)
	case "text":
		if len(ev.Path) > 0 {
			o.delegate(ev)
			return
		}
		o.text(ev.Data)
		o.screen.Emit(ev.Data)
	}
}

// delegate shows an event of a delegate on standard error.
func (o *show) delegate(ev event.Event) {
	record, err := event.NewRecord(ev)
	if err != nil {
		o.keep(err)
		return
	}
	view := o.delegates.view(&record)
	view.shown.text(ev.Data)
	if record.Type == event.TypeRunFinish {
		view.shown.endLine()
	}
}

// newShow returns a show that writes to a command's streams; set redact before using it. Other
// output to standard error must use its stream.
func newShow(s terminal.Streams, format string, quiet bool) *show {
	o := &show{Streams: s, format: format, quiet: quiet}
	if format == "text" && !quiet {
		o.screen = newScreen(s.Err)
		o.Err = o.screen
	}
	o.delegates = delegateViews[*show]{out: o.Err, open: func(out io.Writer) *show {
		return &show{Streams: terminal.Streams{Out: out, Err: out}, format: format, redact: o.redact}
	}}
	return o
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
		data = redaction.JSON(data, redact)
	}
	o.write(string(data) + "\n")
}

func (o *show) text(data event.Data) {
	switch d := data.(type) {
	case *event.TextDelta:
		o.write(d.Delta)
		o.line, o.broken = !strings.HasSuffix(d.Delta, "\n"), false
	case *event.InferenceComplete:
		if d.FinishReason != model.FinishMaxTokens { // else it is continued
			o.endLine()
		}
	case *event.StepEnd:
		o.endLine()
	case *event.ToolCallReady:
		o.endLine()
		o.work("→ %s %s", d.Name, o.clip(string(d.Arguments)))
	case *event.ToolCallStreamDelta:
		o.work("  %s: %s", d.Name, o.clip(d.Delta))
	case *event.ToolCallDone:
		o.work("← %s %s (%d ms): %s", d.Name, d.Outcome, d.DurationMS, o.clip(d.Result.Text()))
	case *event.Handoff:
		o.work("⇒ agent %s hands the conversation to agent %s", d.From, d.To)
	case *event.ActivitySnapshot:
		if delegate, ok := d.Delegate(); ok && delegate.State != event.DelegateRunning {
			o.work("⇄ delegate %s", o.clip(delegate.String()))
		}
	case *event.StreamReset:
		o.endLine()
		o.progress("! the answer shown so far is discarded: %s", o.clip(d.Reason))
	default:
		if note := o.note(data); note != "" {
			o.aside("! %s", note)
		}
	}
}

// note describes an event, except answers and calls, in one line; empty if it is not worth showing.
func (o *show) note(data event.Data) string {
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
			return fmt.Sprintf("%s summarised: %d tokens became %d", terminal.Count(d.Messages, "message is", "messages are"), d.Before, d.After)
		}
		return fmt.Sprintf("%s not summarised (%s): %s", terminal.Count(d.Messages, "message is", "messages are"), d.Outcome, o.clip(d.Reason))
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

// work writes a line about the agent's work to standard error, unless quiet is set.
func (o *show) work(format string, args ...any) {
	if !o.quiet {
		o.progress(format, args...)
	}
}

// progress writes a line to standard error.
func (o *show) progress(format string, args ...any) {
	fmt.Fprintln(o.Err, terminal.OneLine(fmt.Sprintf(format, args...)))
}

// aside writes a line to standard error without breaking the line of an unfinished answer.
func (o *show) aside(format string, args ...any) {
	if o.line && !o.broken {
		fmt.Fprintln(o.Err)
		o.broken = true
	}
	o.progress(format, args...)
}

func (o *show) endLine() {
	if o.line {
		o.write("\n")
		o.line = false
	}
}

func (o *show) write(text string) {
	o.screen.clear() // possibly on the same terminal
	_, err := io.WriteString(o.Out, text)
	o.keep(err)
}

func (o *show) keep(err error) {
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

// close ends the output. It fails if writing failed.
func (o *show) close(result *runtime.Result) error {
	o.screen.close()
	o.endLine()
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
		o.progress("! the answer is incomplete: the turn was stopped (%s: %s)", result.Termination.Code, o.redact(result.Termination.Detail))
	}
	if o.format == "text" && result != nil {
		o.work("%s", summary(result))
	}
	if o.failed != nil {
		return fmt.Errorf("write the output: %w", o.failed)
	}
	return nil
}

// summary summarizes a turn in a line: its steps and, if known, its tokens and cost.
func summary(r *runtime.Result) string {
	text := "= " + terminal.Count(r.Steps, "step", "steps")
	if n := r.Usage.Total(); n > 0 {
		text += fmt.Sprintf(", %s (%d in, %d out)", terminal.Count(n, "token", "tokens"), r.Usage.Input, r.Usage.Output)
	}
	if r.Cost != nil {
		text += ", " + r.Cost.String()
	}
	return text
}

func (o *show) outcome(r *runtime.Result) outcome {
	out := outcome{
		TurnID: r.TurnID, Agent: r.Agent, Status: r.Status, Termination: r.Termination,
		Response: r.Response, Steps: r.Steps, Usage: r.Usage,
		Cost: r.Cost, Agents: r.Agents, FinishReason: r.FinishReason, Artifacts: len(r.Artifacts),
	}
	out.Termination.Detail = o.redact(out.Termination.Detail)
	if len(r.Interactions) > 0 {
		interactions, err := json.Marshal(r.Interactions)
		o.keep(err)
		out.Interactions = redaction.JSON(interactions, o.redact)
	}
	return out
}

// clip redacts text and shortens it to one line for progress.
func (o *show) clip(text string) string {
	const limit = 120
	text = strings.Join(strings.Fields(terminal.OneLine(o.redact(text))), " ")
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit]) + "…"
	}
	return text
}
