package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/spf13/cobra"
)

func newTurnsTranscript(p *program, at *target) *cobra.Command {
	var format *command.Choice
	var delegates *bool
	cmd := &cobra.Command{
		Use:   "transcript (FILE… | --server URL) TURN",
		Short: "Show a turn as a readable transcript",
		Long: `transcript shows a turn as readable text: the model's text, the tool calls with input and
output, the questions, and how the turn ended. With --format json it is an object with
the turn and its events, each with its display. If the turn has not ended, transcript
shows what is stored so far. A delegate is one line; --delegates also shows what each
delegate did, prefixed with the names of the agents that led to it.

Exit codes: 0 done, 1 the store or the server cannot be used or the turn does not exist,
2 usage or a file cannot be read.`,
		Args: at.arguments(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			turn := at.take(args, 1)[0]
			return p.lookAt(cmd.Context(), at, func(from *place) error {
				return showTranscript(cmd.Context(), p, from, turn, format.Value, *delegates)
			})
		},
	}
	format = command.AddFormatFlag(cmd, "text", "json")
	delegates = delegatesFlag(cmd.Flags())
	return cmd
}

// transcriptPage is the number of log records per read.
const transcriptPage = 100

// transcribedTurn is the JSON form of a transcript.
type transcribedTurn struct {
	Turn   *native.Turn       `json:"turn"`
	Events []transcribedEvent `json:"events"`
}

// transcribedEvent is the JSON form of an event in a transcript.
type transcribedEvent struct {
	// Path leads to the delegate whose event it is; Seq counts the events of each path.
	Path       []string         `json:"path,omitempty"`
	Seq        uint64           `json:"seq"`
	Time       time.Time        `json:"time"`
	Type       string           `json:"type"`
	Visibility string           `json:"visibility"`
	Data       json.RawMessage  `json:"data"`
	Display    *display.Display `json:"display,omitempty"`
}

// showTranscript shows a turn up to the end of its log.
func showTranscript(ctx context.Context, p *program, from *place, turnID, format string, delegates bool) error {
	turn, err := from.GetTurn(ctx, turnID)
	if err != nil {
		return err
	}
	out := turnview.NewTranscript(p.Out, from.redact)
	whole := transcribedTurn{Turn: turn, Events: []transcribedEvent{}}
	readers := map[string]*display.Reader{}
	for after := uint64(0); ; {
		records, err := from.ReadEvents(ctx, turnID, after, transcriptPage, eventFilter(delegates))
		if err != nil {
			return err
		}
		if len(records) == 0 {
			break
		}
		for i := range records {
			after = records[i].Seq
			if format != "json" {
				if err := out.ShowRecord(&records[i]); err != nil {
					return err
				}
				continue
			}
			path := strings.Join(records[i].Path, "\x00")
			if readers[path] == nil {
				readers[path] = new(display.Reader)
			}
			shown, err := readers[path].Read(&records[i])
			if err != nil {
				return err
			}
			for _, e := range shown {
				whole.Events = append(whole.Events, transcribedEvent{records[i].Path, e.Seq, e.Time, e.Type, e.Visibility, e.Data, e.Display})
			}
		}
	}
	if format == "json" {
		return redaction.Write(p.Out, whole, from.redact)
	}
	return out.Close()
}
