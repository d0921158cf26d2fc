package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/evals"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// evalAddOptions are the flags of eval add.
type evalAddOptions struct {
	to    string
	id    string
	turns string
}

func newEvalAdd(p *program) *cobra.Command {
	var at target
	var o evalAddOptions
	cmd := &cobra.Command{
		Use:   "add FILE… TURN",
		Short: "Make a case of a stored turn",
		Long: `add makes a case of a stored turn and adds it to the file of cases --to. The model's
answers become a script, and the results of tools are kept beside the file, so the case
runs without keys and calls nothing. It expects the status, calls and text of the turn:
edit it to what the agent should have done. Values of the configuration's secrets are
redacted; check the case for others before you commit it.

With --from-turns FILTER instead of TURN, add makes cases of all turns that match, at most
100: status=, agent= and since= (as in since=7d), separated by blanks.

Exit codes: 0 done, 1 the store or the server cannot be used, the turn does not exist or
does not fit into a case, 2 usage or a file cannot be read.`,
		Args: func(cmd *cobra.Command, args []string) error {
			n := 1
			if o.turns != "" {
				n = 0
			}
			return at.arguments(n)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []string
			if o.turns == "" {
				ids = at.take(args, 1)[:1]
			} else {
				at.take(args, 0)
			}
			return p.lookAt(cmd.Context(), &at, func(from *place) error { return p.addCases(cmd.Context(), from, ids, &o) })
		},
	}
	at.flags(cmd.Flags())
	cmd.Flags().StringVar(&o.to, "to", filepath.Join("evals", "turns.yaml"), "add the case to this `FILE`")
	cmd.Flags().StringVar(&o.id, "id", "", "the ID of the case; defaults to turn- and the ID of the turn")
	cmd.Flags().StringVar(&o.turns, "from-turns", "", "add the turns that match `FILTER`, as in \"status=failed since=7d\"")
	cmd.MarkFlagsMutuallyExclusive("id", "from-turns")
	return cmd
}

// maxAddedTurns bounds the cases that one command adds.
const maxAddedTurns = 100

// addCases makes cases of turns.
func (p *program) addCases(ctx context.Context, from *place, ids []string, o *evalAddOptions) error {
	if o.turns != "" {
		var err error
		if ids, err = matchTurns(ctx, from, o.turns); err != nil {
			return err
		}
	}
	for _, id := range ids {
		turn, err := readTurn(ctx, from, id)
		if err != nil {
			return err
		}
		name := o.id
		if name == "" {
			name = "turn-" + event.ShownID(id)
		}
		draft, err := evals.NewDraft(name, turn)
		if err == nil {
			err = draft.Write(o.to, filepath.Dir(o.to), from.redact)
		}
		if err != nil {
			return fmt.Errorf("turn %s: %w", id, err)
		}
		fmt.Fprintf(p.out, "added case %s to %s\n", oneLine(name), o.to)
	}
	if len(ids) == 0 {
		fmt.Fprintln(p.out, "no turn matches")
	}
	return nil
}

// matchTurns returns the turns that a filter matches, the newest first.
func matchTurns(ctx context.Context, from *place, filter string) ([]string, error) {
	q := native.TurnQuery{Page: store.Page{Limit: maxAddedTurns}}
	var since time.Time
	for word := range strings.FieldsSeq(filter) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "status":
			var list statuses
			if err := list.Set(value); err != nil {
				return nil, fmt.Errorf("--from-turns: status: %w", err)
			}
			q.Statuses = append(q.Statuses, list...)
		case "agent":
			q.AgentID = value
		case "since":
			span, err := parseSpan(value)
			if err != nil {
				return nil, fmt.Errorf("--from-turns: since: %w", err)
			}
			since = time.Now().Add(-span)
		default:
			return nil, fmt.Errorf("--from-turns: %q is not status=, agent= or since=", word)
		}
	}
	list, err := from.ListTurns(ctx, q)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range list.Turns {
		if t := &list.Turns[i]; t.Outcome != nil && t.CreatedAt.After(since) {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// parseSpan reads a time span, which may be a number of days: 7d.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	return time.ParseDuration(text)
}

// readTurn reads a turn that has ended, with its events.
func readTurn(ctx context.Context, from *place, id string) (*evals.StoredTurn, error) {
	t, err := from.GetTurn(ctx, id)
	if err != nil {
		return nil, err
	}
	if t.Outcome == nil {
		return nil, fmt.Errorf("turn %s is %s; only turns that have ended become cases", id, t.Status)
	}
	turn := &evals.StoredTurn{AgentID: t.AgentID, Status: event.Status(t.Status), Input: t.Input}
	for after := uint64(0); ; {
		records, err := from.ReadEvents(ctx, id, after, transcriptPage, eventFilter(false))
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			return turn, nil
		}
		for i := range records {
			after = records[i].Seq
			ev, err := records[i].Event()
			if err != nil {
				return nil, err
			}
			turn.Events = append(turn.Events, ev)
		}
	}
}
