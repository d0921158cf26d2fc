package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/spf13/cobra"
)

// NewWorkflows returns the command workflows.
func NewWorkflows(s *terminal.Streams) *cobra.Command {
	at := new(Flags)
	f := &flows{s, at, workflows.NewClient}
	cmd := newGroup("workflows", "Manage workflow schedules, triggers and runs on a server", `workflows shows what starts workflows at a server and the results of their runs, creates
schedules and event triggers, cancels and answers runs, and publishes events. To show how
a file declares a workflow, use explain --workflow.

The key is read from --api-key-file or the variable RUNTIME_API_KEY. It needs the scope
runs:read, and for changes runs:write.

Exit codes: 0 done, 1 the server rejects the request or cannot be reached, 2 usage.`,
		newStarts(f, scheduleWords), newStarts(f, triggerWords), newRuns(f), newPublish(f))
	at.AddRequiredFlags(cmd.PersistentFlags())
	return cmd
}

// publishOptions are the flags of workflows publish.
type publishOptions struct {
	event            workflow.Event
	at               string
	data, extensions map[string]json.RawMessage
	dataFile         string
}

func newPublish(f *flows) *cobra.Command {
	var o publishOptions
	cmd := f.newReport("publish", "Publish an event to start matching workflows", command.Arguments(0, 0), func(ctx context.Context, out *command.Output, c *workflows.Client, _ []string) error {
		done, err := c.Publish(ctx, o.event)
		if err != nil {
			return err
		}
		return (&command.Listing[workflow.Event]{
			Record: done, Items: []workflow.Event{done.Event},
			Header: []string{"ID", "TYPE", "SOURCE", "SUBJECT", "TIME"},
			Row: func(ev workflow.Event) []string {
				return []string{ev.ID, out.Redact(ev.Type), cmp.Or(out.Redact(ev.Source), "-"), cmp.Or(out.Redact(ev.Subject), "-"), ev.Time.Format(time.RFC3339)}
			},
			Foot: terminal.Count(done.Runs, "run began", "runs began") + "\n",
		}).Show(out)
	})
	cmd.Long = `publish publishes an event. It prints the event as the server stored it and how many runs
started. An event with the source and ID of an earlier event starts no run.`
	flags := cmd.Flags()
	flags.StringVar(&o.event.Type, "type", "", "what happened; triggers match it exactly")
	flags.StringVar(&o.event.Source, "source", "", "source of the event")
	flags.StringVar(&o.event.Subject, "subject", "", "subject of the event")
	flags.StringVar(&o.event.ID, "id", "", "ID of the event; default: a new one")
	flags.StringVar(&o.event.SpecVersion, "spec-version", "", "CloudEvents version: 1.0")
	flags.StringVar(&o.at, "time", "", "when it happened, as RFC 3339 has it; now when absent")
	flags.StringVar(&o.event.DataContentType, "data-content-type", "", "media type of the data")
	flags.VarP(&command.Assignments[json.RawMessage]{To: &o.data, Form: command.JSONForm}, "data", "p", "set a field of the data: NAME=TEXT or NAME:=JSON; can be repeated")
	flags.StringVar(&o.dataFile, "data-file", "", "read the data as JSON from this `path`, or - for standard input")
	flags.VarP(&command.Assignments[json.RawMessage]{To: &o.extensions, Form: command.JSONForm}, "extension", "e", "set an extension attribute: NAME=TEXT or NAME:=JSON; can be repeated")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return o.completeEvent(cmd, f.In) }
	return cmd
}

// completeEvent checks an event and reads its non-text parts.
func (o *publishOptions) completeEvent(cmd *cobra.Command, in io.Reader) (err error) {
	if o.event.Type == "" {
		return command.Usagef(cmd, "--type is required")
	}
	if o.at != "" {
		if o.event.Time, err = time.Parse(time.RFC3339, o.at); err != nil {
			return command.Usagef(cmd, "--time is not a time of RFC 3339, such as 2026-01-31T08:00:00Z")
		}
	}
	o.event.Extensions = o.extensions
	o.event.Data, err = readObject(cmd, in, o.data, "data-file", o.dataFile)
	return err
}
