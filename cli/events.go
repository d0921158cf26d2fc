package cli

import (
	"context"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// eventsOptions are the flags of events.
type eventsOptions struct {
	format *command.Choice
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
	at.AddFlags(cmd.Flags())
	o.format = command.AddFormatFlag(cmd, "text", "json")
	cmd.Flags().Uint64Var(&o.after, "after", 0, "show only events after this number")
	o.delegates = delegatesFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow new events until the turn ends")
	return cmd
}

func showEvents(ctx context.Context, p *program, from *place, turn string, o *eventsOptions) error {
	out := turnview.NewEventLog(p.Streams, o.format.Value == "json", from.redact)
	if o.follow {
		for record, err := range from.Events(ctx, turn, o.after, eventFilter(*o.delegates)) {
			if err != nil {
				return err
			}
			if err := out.Record(&record); err != nil {
				return err
			}
		}
		return nil
	}
	for after := o.after; ; {
		records, err := from.ReadEvents(ctx, turn, after, store.MaxPage, eventFilter(*o.delegates))
		if err != nil || len(records) == 0 {
			return err
		}
		for i := range records {
			after = records[i].Seq
			if err := out.Record(&records[i]); err != nil {
				return err
			}
		}
	}
}
