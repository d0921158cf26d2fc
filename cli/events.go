package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// eventsOptions are the flags of events.
type eventsOptions struct {
	format *choice
	after  uint64
	follow bool
	// delegates also shows the events of delegates.
	delegates *bool
}

func newEvents(p *program) *cobra.Command {
	var at target
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events (FILE… | --server URL) TURN",
		Short: "Show the events of a turn",
		Long: `events shows the log of a turn in the store of a configuration, one line per event: its
number, time, type and content. With --format json each line is the stored event. A
delegate is one line with its tool calls, tokens and cost; --delegates also shows its
events, prefixed with the calls that led to it.

With --server URL instead of FILE, events shows a turn of a running server. The key is
read from --api-key-file or the variable RUNTIME_API_KEY. With --follow a broken
connection is resumed without a gap.

Exit codes: 0 done, 1 the store or the server cannot be used or the turn does not exist,
2 usage or a file cannot be read, 130 canceled.`,
		Args: at.arguments(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			turn := at.take(args, 1)[0]
			return p.lookAt(cmd.Context(), &at, func(from *place) error {
				return showEvents(cmd.Context(), p, from, turn, &o)
			})
		},
	}
	at.flags(cmd.Flags())
	o.format = formatFlag(cmd, "text", "json")
	cmd.Flags().Uint64Var(&o.after, "after", 0, "show only events after this number")
	o.delegates = delegatesFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow new events until the turn ends")
	return cmd
}

func showEvents(ctx context.Context, p *program, from *place, turn string, o *eventsOptions) error {
	out := &eventLog{show: show{Streams: p.Streams, format: "events", redact: from.redact}, asJSON: o.format.value == "json"}
	if o.follow {
		for record, err := range from.Events(ctx, turn, o.after, eventFilter(*o.delegates)) {
			if err != nil {
				return err
			}
			if out.record(&record); out.failed != nil {
				break
			}
		}
		return out.failed
	}
	for after := o.after; ; {
		records, err := from.ReadEvents(ctx, turn, after, store.MaxPage, eventFilter(*o.delegates))
		if err != nil || len(records) == 0 {
			return err
		}
		for i := range records {
			after = records[i].Seq
			if out.record(&records[i]); out.failed != nil {
				return out.failed
			}
		}
	}
}

// eventLog writes events, one per line.
type eventLog struct {
	show
	asJSON bool
}

// record writes an event. An unknown kind, written by a later version, is shown as is.
func (o *eventLog) record(r *event.Record) {
	ev, err := r.Event()
	switch {
	case err != nil && o.asJSON:
		data, err := json.Marshal(r)
		o.keep(err)
		o.write(string(redactJSON(data, o.redact)) + "\n")
	case err != nil:
		o.line(r, o.clip(string(r.Data)))
	case o.asJSON:
		o.Emit(ev)
	default:
		o.line(r, o.brief(ev.Data, r.Data))
	}
}

func (o *eventLog) line(r *event.Record, text string) {
	const milliseconds = "2006-01-02T15:04:05.000Z"
	if len(r.Path) > 0 {
		text = o.clip(strings.Join(r.Path, "/")) + ": " + text
	}
	_, err := fmt.Fprintf(o.Out, "%6d  %s  %-21s  %s\n", r.Seq, r.Time.UTC().Format(milliseconds), terminal.OneLine(string(r.Type)), text)
	o.keep(err)
}

// brief summarizes an event in a few words; raw is its JSON form.
func (o *eventLog) brief(data event.Data, raw json.RawMessage) string {
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
