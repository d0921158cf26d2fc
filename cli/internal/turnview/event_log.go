package turnview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
)

// EventLog writes events, one per line.
type EventLog struct {
	Printer
	asJSON bool
}

// NewEventLog returns a log that writes JSON or text to a command's output.
func NewEventLog(s terminal.Streams, asJSON bool, redact func(string) string) *EventLog {
	return &EventLog{Printer: Printer{Streams: s, format: "events", Redact: redact}, asJSON: asJSON}
}

// Record writes an event. An unknown kind, written by a later version, is shown as is. It returns
// the first error of writing.
func (o *EventLog) Record(r *event.Record) error {
	ev, err := r.Event()
	switch {
	case err != nil && o.asJSON:
		data, err := json.Marshal(r)
		o.keep(err)
		o.write(string(redaction.JSON(data, o.Redact)) + "\n")
	case err != nil:
		o.line(r, o.clip(string(r.Data)))
	case o.asJSON:
		o.Emit(ev)
	default:
		o.line(r, o.brief(ev.Data, r.Data))
	}
	return o.failed
}

func (o *EventLog) line(r *event.Record, text string) {
	const milliseconds = "2006-01-02T15:04:05.000Z"
	if len(r.Path) > 0 {
		text = o.clip(strings.Join(r.Path, "/")) + ": " + text
	}
	_, err := fmt.Fprintf(o.Out, "%6d  %s  %-21s  %s\n", r.Seq, r.Time.UTC().Format(milliseconds), terminal.OneLine(string(r.Type)), text)
	o.keep(err)
}

// brief summarizes an event in a few words; raw is its JSON form.
func (o *EventLog) brief(data event.Data, raw json.RawMessage) string {
	switch d := data.(type) {
	case *event.RunStart:
		if d.Resumed {
			return "agent " + d.AgentID + " resumes"
		}
		return "agent " + d.AgentID
	case *event.RunFinish:
		return o.clip(fmt.Sprintf("%s: %s", d.Status, cmp.Or(d.Termination.Detail, string(d.Termination.Type))))
	case *event.StepStart:
		return fmt.Sprintf("step %d", d.Step)
	case *event.StepEnd:
		return fmt.Sprintf("step %d", d.Step)
	case *event.TextDelta:
		return o.clip(d.Delta)
	case *event.ReasoningDelta:
		return o.clip(d.Delta)
	case *event.ToolCallStart:
		return o.clip(d.Name)
	case *event.ToolCallReady:
		return o.clip(fmt.Sprintf("%s %s", d.Name, d.Arguments))
	case *event.ToolCallDone:
		return o.clip(fmt.Sprintf("%s %s: %s", d.Name, d.Outcome, d.Result.Text()))
	case *event.InferenceComplete:
		return o.clip(fmt.Sprintf("%s: %s, %d tokens in, %d out", d.Model, d.FinishReason, d.Usage.Input, d.Usage.Output))
	case *event.ActivitySnapshot:
		if delegate, ok := d.Delegate(); ok {
			return o.clip("delegate " + delegate.String())
		}
	case *event.RunWaiting:
		return o.clip("for " + strings.Join(d.Interactions, ", "))
	case *event.InteractionRequest:
		return o.clip(fmt.Sprintf("%s: %s (%s %s)", d.ID, cmp.Or(d.Message, d.Action), d.Tool, d.Arguments))
	}
	if note := o.note(data); note != "" {
		return o.clip(note)
	}
	return o.clip(string(raw))
}
