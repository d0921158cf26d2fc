package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// turnsOptions are the flags of turns.
type turnsOptions struct {
	session  string
	agent    string
	statuses command.Choice
	page     store.Page
}

func newTurns(p *program) *cobra.Command {
	var at target
	o := turnsOptions{statuses: command.Choice{Allowed: turnStatuses}}
	cmd := &cobra.Command{
		Use:   "turns (FILE… | --server URL)",
		Short: "List the turns in the store",
		Long: `turns lists the turns in the store of a configuration, the newest first, with the
interactions that they wait for. It also works while a server uses the store.

With --server URL instead of FILE, it lists the turns at a running server that belong to
the owner of the key. The key is read from --api-key-file or the variable
RUNTIME_API_KEY.

Exit codes: 0 done, 1 the store or the server cannot be used, 2 usage or a file cannot
be read.`,
		Args: at.arguments(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			at.take(args, 0)
			return p.lookAt(cmd.Context(), &at, func(from *place) error {
				return listTurns(cmd, p, from, &o)
			})
		},
	}
	at.AddFlags(cmd.PersistentFlags())
	command.AddFormatFlag(cmd, "text", "json")
	cmd.Flags().StringVar(&o.session, "session", "", "show only turns of the session with this ID")
	cmd.Flags().StringVar(&o.agent, "agent", "", "show only turns of the agent with this ID")
	cmd.Flags().Var(&o.statuses, "status", "show only turns in this state: pending, running, waiting, succeeded, failed, canceled; can be repeated")
	command.AddPageFlags(cmd, &o.page)
	cmd.AddCommand(newTurnsCreate(p, &at), newTurnsCancel(p, &at), newTurnsResolve(p, &at), newTurnsTranscript(p, &at))
	return cmd
}

// turnStatuses are the states of turns.
var turnStatuses = []string{
	string(store.Pending), string(store.Running), string(store.Waiting),
	string(store.Succeeded), string(store.Failed), string(store.Canceled),
}

func listTurns(cmd *cobra.Command, p *program, from *place, o *turnsOptions) error {
	var statuses []store.Status
	for _, one := range o.statuses.Values {
		statuses = append(statuses, store.Status(one))
	}
	page, err := from.ListTurns(cmd.Context(), native.TurnQuery{SessionID: o.session, AgentID: o.agent, Statuses: statuses, Page: o.page})
	if err != nil {
		return err
	}
	var waits strings.Builder
	for i := range page.Turns {
		for _, q := range page.Turns[i].WaitsFor {
			fmt.Fprintf(&waits, "turn %s waits for %s: %s\n", terminal.OneLine(page.Turns[i].ID), terminal.OneLine(q.ID), terminal.OneLine(from.redact(q.Message)))
		}
	}
	return (&command.Listing[native.Turn]{
		Record: page, Items: page.Turns, Next: page.Next, None: "no turns", Foot: waits.String(),
		Header: []string{"TURN", "SESSION", "AGENT", "STATUS", "STEPS", "EVENTS", "AGE"},
		Row: func(t native.Turn) []string {
			status := string(t.Status)
			if t.Expired {
				status = "expired"
			}
			return []string{t.ID, t.SessionID, t.AgentID, status, fmt.Sprint(t.Steps), fmt.Sprint(t.Events), command.Age(time.Now(), t.CreatedAt)}
		},
	}).Show(command.NewOutput(&p.Streams, cmd, from.redact))
}
