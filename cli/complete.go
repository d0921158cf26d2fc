package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// completionTime bounds how long a shell waits for candidates from a store or server.
	completionTime = 2 * time.Second
	// completionPage is the number of sessions or turns offered, newest first.
	completionPage = 50
)

// configExtensions are the extensions of configuration files.
var configExtensions = []cobra.Completion{"yaml", "yml"}

// completer finds completions of a command line. Errors are hidden and yield no candidates.
type completer struct{ *program }

// newCompleter returns the completer of a program, which itself writes nothing.
func newCompleter(p *program) completer {
	quiet := *p
	quiet.Out, quiet.Err = io.Discard, io.Discard
	return completer{&quiet}
}

// values finds the candidates for one position of a command line.
type values func(ctx context.Context, at *completed) []cobra.Completion

// completed is the typed part of a command line: configuration files or a server, and the other
// arguments.
type completed struct {
	target
	others []string
}

// completions are the candidates for commands' arguments after the files. Commands without an
// entry have none.
func (c completer) completions() map[string][]values {
	return map[string][]values{
		"validate": {}, "serve": {}, "migrate": {}, "diff": {}, "init": {}, "apply": {},
		"sessions": {}, "turns": {}, "sessions import": {},
		"explain": {c.agents}, "run": {c.agents}, "chat": {c.agents}, "turns create": {c.agents},
		"events": {c.turns}, "turns cancel": {c.turns}, "turns transcript": {c.turns}, "turns resolve": {c.turns, c.interactions},
		"sessions export": {c.sessions},
		"keys refresh":    {c.clients},
	}
}

// install adds completions to all commands and flags.
func (c completer) install(root *cobra.Command) {
	arguments := c.completions()
	for _, cmd := range allCommands(root) {
		path := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), root.Name()))
		if list, ok := arguments[path]; ok {
			cmd.ValidArgsFunction = argumentValues(list)
		} else if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		add := func(f *pflag.Flag) { c.installFlag(cmd, f) }
		cmd.Flags().VisitAll(add)
		cmd.PersistentFlags().VisitAll(add)
	}
}

// allCommands returns a command and all its descendants.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		list = append(list, allCommands(below)...)
	}
	return list
}

// installFlag adds a flag's completion. A flag with unknown values offers nothing; only a file flag
// offers files.
func (c completer) installFlag(cmd *cobra.Command, f *pflag.Flag) {
	complete := cobra.NoFileCompletions
	if v, ok := f.Value.(interface{ Choices() []string }); ok {
		complete = cobra.FixedCompletions(v.Choices(), cobra.ShellCompDirectiveNoFileComp)
	}
	switch f.Name {
	case "agent":
		complete = flagValues(c.agents)
	case "tool":
		complete = flagValues(c.toolIDs)
	case "session":
		complete = flagValues(c.sessions)
	case "tenant":
		complete = flagValues(c.tenants)
	case "scope":
		complete = cobra.FixedCompletions(c.Scopes(), cobra.ShellCompDirectiveNoFileComp)
	case "listen":
		complete = cobra.FixedCompletions([]string{settings.ListenNone}, cobra.ShellCompDirectiveNoFileComp)
	case "file":
		complete = cobra.FixedCompletions(configExtensions, cobra.ShellCompDirectiveFilterFileExt)
	case "api-key-file", "signature-keys":
		return // any file
	}
	// It fails if a command has its own completion.
	_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
}

// flagValues completes the value of a flag.
func flagValues(find values) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return startingWith(findValues(cmd, args, find), prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// argumentValues completes files and then other arguments.
func argumentValues(others []values) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		at := complete(cmd, args)
		if len(at.others) < len(others) && (len(at.files) > 0 || at.Server != "") {
			if list := startingWith(findValues(cmd, args, others[len(at.others)]), prefix); len(list) > 0 {
				return list, cobra.ShellCompDirectiveNoFileComp
			}
		}
		if len(at.others) > 0 || at.Server != "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return configExtensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// complete sorts the typed arguments: leading files or directories are the configuration.
func complete(cmd *cobra.Command, args []string) *completed {
	at := &completed{others: args}
	if f := cmd.Flag("server"); f != nil {
		at.Server, at.KeyFile = f.Value.String(), cmd.Flag("api-key-file").Value.String()
	}
	if f := cmd.Flag("file"); f != nil {
		if v, ok := f.Value.(pflag.SliceValue); ok {
			at.files = v.GetSlice()
		}
	}
	named := len(at.files) > 0
	for at.Server == "" && !named && len(at.others) > 0 {
		if _, err := os.Stat(at.others[0]); err != nil {
			break
		}
		at.files, at.others = append(at.files, at.others[0]), at.others[1:]
	}
	return at
}

// findValues finds values within the time that a shell may wait.
func findValues(cmd *cobra.Command, args []string, find values) []cobra.Completion {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	return find(ctx, complete(cmd, args))
}

// startingWith returns the candidates with a prefix.
func startingWith(list []cobra.Completion, prefix string) []cobra.Completion {
	return slices.DeleteFunc(list, func(v cobra.Completion) bool { return !strings.HasPrefix(v, prefix) })
}

// described returns a value with its description for the shell.
func described(value, text string, redact func(string) string) cobra.Completion {
	if text = terminal.OneLine(redact(text)); text == "" {
		return value
	}
	return cobra.CompletionWithDesc(value, text)
}

// with calls do with the configuration, if its files can be read.
func (c completer) with(at *completed, do func(*loaded)) {
	if len(at.files) == 0 {
		return
	}
	l, err := c.load(at.files, false, unheard())
	if err != nil {
		return
	}
	defer l.close()
	do(l)
}

// agents finds the agents of the configuration.
func (c completer) agents(_ context.Context, at *completed) (list []cobra.Completion) {
	c.with(at, func(l *loaded) {
		for _, a := range l.file.Agents {
			list = append(list, described(a.ID, a.Description, l.file.Redact))
		}
	})
	return list
}

// toolIDs finds the tools that an agent has or does not have.
func (c completer) toolIDs(ctx context.Context, at *completed) (list []cobra.Completion) {
	c.with(at, func(l *loaded) {
		if len(at.others) == 0 {
			return
		}
		rev, _, err := l.check(ctx)
		if err != nil {
			return
		}
		// The error means that the agent does not resolve; its tools may still be known.
		e, _ := resolve.Explain(ctx, rev, at.others[0])
		if e == nil {
			return
		}
		for i := range e.Tools {
			list = append(list, e.Tools[i].ID)
		}
	})
	return list
}

// clients finds the OAuth clients of the server.
func (c completer) clients(_ context.Context, at *completed) (list []cobra.Completion) {
	c.with(at, func(l *loaded) {
		if l.file.Server.OAuth == nil {
			return
		}
		for i := range l.file.Server.OAuth.Clients {
			list = append(list, l.file.Server.OAuth.Clients[i].ID)
		}
	})
	return list
}

// tenants finds the tenants that the configuration names.
func (c completer) tenants(_ context.Context, at *completed) (list []cobra.Completion) {
	c.with(at, func(l *loaded) { list = l.file.Tenants() })
	return list
}

// at calls do with the store or server if it is reachable.
func (c completer) at(ctx context.Context, at *completed, do func(*place) error) {
	if len(at.files) > 0 || at.Server != "" {
		_ = c.lookAt(ctx, &at.target, do)
	}
}

// sessions finds the latest sessions.
func (c completer) sessions(ctx context.Context, at *completed) (list []cobra.Completion) {
	c.at(ctx, at, func(in *place) error {
		page, err := in.ListSessions(ctx, native.SessionQuery{Page: store.Page{Limit: completionPage}})
		if err != nil {
			return err
		}
		for i := range page.Sessions {
			list = append(list, described(page.Sessions[i].ID, page.Sessions[i].CurrentAgent(), in.redact))
		}
		return nil
	})
	return list
}

// turns finds the latest turns.
func (c completer) turns(ctx context.Context, at *completed) (list []cobra.Completion) {
	c.at(ctx, at, func(in *place) error {
		page, err := in.ListTurns(ctx, native.TurnQuery{Page: store.Page{Limit: completionPage}})
		if err != nil {
			return err
		}
		for i := range page.Turns {
			list = append(list, described(page.Turns[i].ID, page.Turns[i].AgentID+" "+string(page.Turns[i].Status), in.redact))
		}
		return nil
	})
	return list
}

// interactions finds a turn's open interactions.
func (c completer) interactions(ctx context.Context, at *completed) (list []cobra.Completion) {
	c.at(ctx, at, func(in *place) error {
		all, err := in.ListInteractions(ctx, at.others[0])
		for i := range all {
			if all[i].State == store.InteractionPending {
				list = append(list, described(all[i].ID, all[i].Request.Message, in.redact))
			}
		}
		return err
	})
	return list
}
