package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// sessionsOptions are the flags of sessions.
type sessionsOptions struct {
	state  command.Choice
	agent  string
	labels map[string]string
	page   store.Page
}

func newSessions(p *program) *cobra.Command {
	var at target
	o := sessionsOptions{state: command.Choice{Allowed: []string{string(store.SessionActive), string(store.SessionArchived)}}}
	cmd := &cobra.Command{
		Use:   "sessions (FILE… | --server URL)",
		Short: "List the sessions in the store",
		Long: `sessions lists the sessions in the store of a configuration, the most recently active
first, also while a server uses the store.

With --server URL instead of FILE, it lists the sessions at a running server that belong
to the owner of the key. The key is read from --api-key-file or the variable
RUNTIME_API_KEY.

Exit codes: 0 done, 1 the store or the server cannot be used, 2 usage or a file cannot
be read.`,
		Args: at.arguments(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			at.take(args, 0)
			return p.lookAt(cmd.Context(), &at, func(from *place) error {
				return listSessions(cmd, p, from, &o)
			})
		},
	}
	at.AddFlags(cmd.PersistentFlags())
	command.AddFormatFlag(cmd, "text", "json")
	cmd.Flags().Var(&o.state, "state", "show only sessions in this state: active, archived")
	cmd.Flags().StringVar(&o.agent, "agent", "", "show only sessions of the agent with this ID")
	cmd.Flags().Var(&command.Assignments[string]{To: &o.labels, Form: command.LabelForm}, "label", "show only sessions with this label; can be repeated")
	command.AddPageFlags(cmd, &o.page)
	cmd.AddCommand(newSessionsExport(p, &at), newSessionsImport(p, &at))
	return cmd
}

func listSessions(cmd *cobra.Command, p *program, from *place, o *sessionsOptions) error {
	page, err := from.ListSessions(cmd.Context(), native.SessionQuery{
		State: store.SessionState(o.state.Value), AgentID: o.agent, Labels: o.labels, Page: o.page,
	})
	if err != nil {
		return err
	}
	return (&command.Listing[native.Session]{
		Record: page, Items: page.Sessions, Next: page.Next, None: "no sessions",
		Header: []string{"SESSION", "STATE", "AGENT", "LABELS", "ACTIVE"},
		Row: func(s native.Session) []string {
			return []string{s.ID, string(s.State), cmp.Or(s.CurrentAgent(), "-"), cmp.Or(from.redact(labelText(s.Labels)), "-"), command.Age(time.Now(), s.ActiveAt())}
		},
	}).Show(command.NewOutput(&p.Streams, cmd, from.redact))
}

// labelText formats labels as for --label.
func labelText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+"="+labels[name])
	}
	return strings.Join(parts, ",")
}

func newSessionsExport(p *program, at *target) *cobra.Command {
	return &cobra.Command{
		Use:   "export (FILE… | --server URL) SESSION",
		Short: "Export a session as JSON",
		Long: `export writes a session as JSON: its description, its snapshots with their messages, and
its artifacts. The output contains everything that was said, including secrets that
people or tools revealed. With --server the values of headers, which clients set for
their tools, are left out.`,
		Args: at.arguments(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := at.take(args, 1)[0]
			return p.lookAt(cmd.Context(), at, func(from *place) error {
				export, err := from.ExportSession(cmd.Context(), id)
				if err != nil {
					return err
				}
				return redaction.WriteJSON(p.Out, export)
			})
		},
	}
}

// maxImport bounds a session that is read from standard input, in bytes.
const maxImport = 256 << 20

// importOptions are the flags of sessions import.
type importOptions struct {
	id, agent string
	owner     service.Caller
}

func newSessionsImport(p *program, at *target) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import (FILE… | --server URL)",
		Short: "Import a session",
		Long: `import reads the output of export from standard input, creates a new session and prints
its ID. No server may use the same SQLite file. With --server the session belongs to the
owner of the key.`,
		Args: at.arguments(0, ownerFlagNames...),
		RunE: func(cmd *cobra.Command, args []string) error {
			at.take(args, 0)
			return importSession(cmd.Context(), p, at, &o)
		},
	}
	cmd.Flags().StringVar(&o.id, "id", "", "ID of the new session; default: a new one")
	cmd.Flags().StringVar(&o.agent, "agent", "", "agent of the new session; default: the exported session's agent")
	ownerFlags(cmd, &o.owner)
	return cmd
}

func importSession(ctx context.Context, p *program, at *target, o *importOptions) error {
	var export service.SessionExport
	in := json.NewDecoder(io.LimitReader(p.In, maxImport))
	if err := in.Decode(&export); err != nil {
		return fmt.Errorf("read the session from standard input: %w", err)
	}
	return p.change(ctx, at, change{caller: o.owner}, func(into *place) error {
		made, err := into.ImportSession(ctx, native.ImportSession{ID: o.id, AgentID: o.agent}, &export)
		if err != nil {
			return err
		}
		return p.Printf("%s\n", terminal.OneLine(made.ID))
	})
}
