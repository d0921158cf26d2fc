package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// createOptions are the flags of turns create.
type createOptions struct {
	session string
	owner   service.Caller
	wait    bool
	// model replaces the agent's model unless empty.
	model string
}

// ownerFlagNames are the flags that ownerFlags adds.
var ownerFlagNames = []string{"tenant", "subject"}

// ownerFlags adds the flags that name an owner.
func ownerFlags(cmd *cobra.Command, owner *service.Caller) {
	cmd.Flags().StringVar(&owner.Tenant, "tenant", settings.DefaultTenant, "tenant that owns what is created")
	cmd.Flags().StringVar(&owner.Subject, "subject", "cli", "subject of the tenant that owns it")
}

func newTurnsCreate(p *program, at *target) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create (FILE… | --server URL) AGENT PROMPT",
		Short: "Store a turn for a server to process",
		Long: `create stores a turn and prints its ID. A server processes it, now or when it is started.
No server may use the same SQLite file.

With --wait, which needs --server or a store that several processes can use, it waits for
the turn and prints the answer instead. With --server the turn belongs to the owner of
the key.

Exit codes: 0 done, 1 the turn cannot be stored or did not succeed, 2 usage or a file
cannot be read, 130 canceled; the turn continues then.`,
		Args: at.arguments(2, ownerFlagNames...),
		RunE: func(cmd *cobra.Command, args []string) error {
			others := at.take(args, 2)
			return createTurn(cmd.Context(), p, at, others[0], others[1], &o)
		},
	}
	cmd.Flags().StringVar(&o.session, "session", "", "session of the turn, created if it does not exist; default: a new one")
	cmd.Flags().StringVar(&o.model, "model", "", "use this model or pool instead of the agent's")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until the turn has ended, and print its answer")
	ownerFlags(cmd, &o.owner)
	return cmd
}

func createTurn(ctx context.Context, p *program, at *target, agent, prompt string, o *createOptions) error {
	by := change{caller: o.owner, agents: func(l *loaded) (*runtime.AgentRuntime, error) {
		if o.wait && !p.StoreDriver(l.file).Shared {
			return nil, fmt.Errorf("--wait needs a server, and the store %s cannot be shared with one: start a server and use --server, or use \"%s run\"", l.file.Store.Driver, p.Command())
		}
		return l.build(ctx, p)
	}}
	return p.change(ctx, at, by, func(into *place) error {
		session, _, err := sessionOf(ctx, into, o.session, agent)
		if err != nil {
			return err
		}
		made, err := into.CreateTurn(ctx, native.CreateTurn{
			SessionID: session.ID, AgentID: namedAgent(session, agent), ModelID: o.model, Input: []model.Message{model.User(prompt)}, Background: true,
		})
		switch {
		case err != nil:
			return err
		case o.wait:
			fmt.Fprintf(p.Err, "! turn %s of session %s\n", made.ID, session.ID)
			return p.awaitTurn(ctx, into, made.ID)
		}
		fmt.Fprintf(p.Err, "! stored in session %s\n", terminal.OneLine(session.ID))
		return p.Printf("%s\n", terminal.OneLine(made.ID))
	})
}

// sessionOf returns a session, which it creates if it does not exist.
func sessionOf(ctx context.Context, in *place, id, agent string) (session *native.Session, made bool, err error) {
	if id != "" {
		session, err := in.GetSession(ctx, id)
		if !errors.Is(err, store.ErrNotFound) {
			return session, false, err
		}
	}
	session, err = in.CreateSession(ctx, native.CreateSession{ID: id, AgentID: agent})
	if _, exists := errors.AsType[*store.ExistsError](err); exists { // created by a concurrent command
		if found, missing := in.GetSession(ctx, id); missing == nil {
			return found, false, nil
		}
	}
	return session, true, err
}

// namedAgent returns the agent to name in a turn for a command that requires one: empty if it is
// the session's own, so that the turn goes to the session's current agent.
func namedAgent(session *native.Session, agent string) string {
	if agent == session.AgentID {
		return ""
	}
	return agent
}

// awaitTurn shows a turn run by another process until it has ended.
func (p *program) awaitTurn(ctx context.Context, at *place, id string) error {
	out := turnview.NewPrinter(p.Streams, "text", false)
	out.Redact = at.redact
	defer out.Screen.Close()
	for record, err := range at.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		if ev, err := record.Event(); err == nil { // else a later version wrote it
			out.Emit(ev)
		}
		if record.Type == event.TypeInteractionRequest {
			fmt.Fprintf(out.Err, "! it waits for a person; answer with: %s turns resolve %s %s INTERACTION\n", p.Command(), at.name, id)
		}
	}
	out.EndLine()
	t, err := at.GetTurn(ctx, id)
	if err != nil || t.Status == store.Succeeded {
		return err
	}
	return fmt.Errorf("the turn is %s: %s", t.Status, why(t))
}

// why describes how a turn ended.
func why(t *native.Turn) string {
	if t.Outcome == nil {
		return "nobody knows why"
	}
	return cmp.Or(t.Outcome.Termination.Detail, string(t.Outcome.Termination.Type))
}

func newTurnsCancel(p *program, at *target) *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:   "cancel (FILE… | --server URL) TURN",
		Short: "Cancel a turn",
		Long: `cancel ends a turn, wherever it runs, and prints its state. A turn that has ended does not
change. No server may use the same SQLite file.`,
		Args: at.arguments(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := at.take(args, 1)[0]
			by := change{caller: service.Operator(), agents: func(l *loaded) (*runtime.AgentRuntime, error) {
				return l.forPeers(cmd.Context()), nil
			}}
			return p.change(cmd.Context(), at, by, func(in *place) error {
				t, err := in.CancelTurn(cmd.Context(), id, reason)
				if err != nil {
					return err
				}
				return p.Printf("%s\n", t.Status)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "an operator ended it", "reason to show with the turn")
	command.AllowEmpty(cmd, "reason")
	return cmd
}

func newTurnsResolve(p *program, at *target) *cobra.Command {
	var o remote.AnswerFlags
	cmd := &cobra.Command{
		Use:   "resolve (FILE… | --server URL) TURN [INTERACTION]",
		Short: "Answer an interaction of a turn",
		Long: `resolve answers an interaction, and the turn continues. "` + p.Command() + ` turns" shows the IDs of
interactions. INTERACTION is optional if only one is pending. No server may use the same
SQLite file.`,
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error { return at.arguments(at.countNamed(args))(cmd, args) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Check(cmd); err != nil {
			return err
		}
		others := append(at.take(args, at.countNamed(args)), "")
		return resolveInteraction(cmd.Context(), p, at, others[0], others[1], &o)
	}
	o.AddFlags(cmd)
	return cmd
}

// countNamed returns 2 if args name a turn and an interaction, and 1 if they name only a turn,
// which then follows an existing file.
func (t *target) countNamed(args []string) int {
	if t.Server != "" {
		return min(max(len(args), 1), 2)
	}
	if n := len(args); n == 2 || n > 2 && isPath(args[n-2]) {
		return 1
	}
	return 2
}

// isPath reports whether path is an existing file or directory.
func isPath(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func resolveInteraction(ctx context.Context, p *program, at *target, turn, id string, o *remote.AnswerFlags) error {
	return p.change(ctx, at, change{caller: service.Operator()}, func(in *place) error {
		all, err := in.ListInteractions(ctx, turn)
		if err != nil {
			return err
		}
		i, err := findInteraction(all, id)
		if err != nil {
			return err
		}
		answer, err := o.Answer(&all[i].Request)
		if err != nil {
			return err
		}
		resolved, err := in.AnswerInteraction(ctx, turn, answer)
		if err != nil {
			return err
		}
		return p.Printf("%s\n", resolved.State)
	})
}

// findInteraction returns the index of the interaction with an ID or call ID. Without an id it
// returns the pending one, if there is exactly one.
func findInteraction(all []native.Interaction, id string) (int, error) {
	matches := func(v native.Interaction) bool { return v.ID == id || v.Request.CallID == id }
	if id == "" {
		matches = func(v native.Interaction) bool { return v.State == store.InteractionPending }
	}
	i := slices.IndexFunc(all, matches)
	switch {
	case i < 0 && id == "":
		return 0, errors.New("no interaction of the turn is waiting for an answer")
	case i < 0:
		return 0, &service.NotFoundError{Kind: "interaction", ID: id}
	case id == "" && slices.ContainsFunc(all[i+1:], matches):
		return 0, errors.New("several interactions of the turn are waiting: INTERACTION is required")
	}
	return i, nil
}
