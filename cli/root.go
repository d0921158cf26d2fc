package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// run runs a command line and returns its exit code. It escapes all output. A wrong command line or
// an unreadable file returns command.Usage, and output that cannot be written command.Failed.
func (p *program) run(ctx context.Context, args []string) int {
	out, errs := terminal.NewWriter(p.Out), terminal.NewWriter(p.Err)
	code := p.with(terminal.Streams{In: p.In, Out: out, Err: errs}).execute(ctx, args)
	flushed := errors.Join(out.Flush(), errs.Flush())
	switch {
	case out.Err() != nil && code == command.Usage: // the error of the command
		return command.Failed
	case code != command.OK:
		return code
	case out.Err() != nil:
		p.PrintErrorf("%v", out.Err())
		return command.Failed
	case flushed != nil:
		return command.Failed
	}
	return code
}

// execute runs a command line on streams that escape their output.
func (p *program) execute(ctx context.Context, args []string) int {
	root := newRoot(p)
	if err := addOwnCommands(root, p); err != nil {
		p.PrintErrorf("%v", err)
		return command.Usage
	}
	root.SetArgs(args)
	err := checkEncoding(args)
	if err == nil {
		err = checkSubcommand(root, args)
	}
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return command.OK
	}
	if e, ok := errors.AsType[command.Exit](err); ok {
		return int(e)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		p.PrintErrorf("canceled")
		return command.Canceled
	}
	p.PrintErrorf("%v", err)
	return command.Usage
}

// checkEncoding rejects arguments that are not UTF-8, except the names of existing files. JSON would
// replace their invalid bytes.
func checkEncoding(args []string) error {
	for i, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		if utf8.ValidString(arg) || isPath(arg) || isPath(value) {
			continue
		}
		return fmt.Errorf("argument %d is not valid UTF-8: %q", i+1, clip.Text(arg))
	}
	return nil
}

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   p.Command(),
		Short: "Validate, explain, compare, run and serve declared agents",
		Long: p.Command() + ` turns declared agents into running ones. One YAML file describes
agents, models, providers, tools and plugins; validate proves at deploy time
that every agent in it resolves, without calling a model. serve works on turns
that a store keeps, so that they outlive the process.`,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.GroupID == ownGroup || cmd.Name() == "update" { // which clears a field with an empty flag
				return nil
			}
			return command.CheckEmptyFlags(cmd)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			if near, ok := nearest.Of(name, names); ok {
				return command.Usagef(cmd, "%w; did you mean --%s?", err, near)
			}
		}
		return command.Usagef(cmd, "%w", err)
	})
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	addVersionFlag(root, p)
	root.AddCommand(
		newValidate(p), newExplain(p), newDiff(p), newEval(p), newRun(p), newChat(p),
		newServe(p), newMCP(p), newProvider(p), newLogin(p), newLogout(p), newKeys(p), newMigrate(p), newSessions(p), newTurns(p), newEvents(p),
		newApply(p), remote.NewRevisions(&p.Streams), remote.NewTenants(&p.Streams), remote.NewWorkflows(&p.Streams),
		newDoctor(p), newModels(p), newSchema(p), newInit(p), newMan(p), newVersion(p),
	)
	arrangeHelp(root)
	newCompleter(p).install(root)
	return root
}

// checkSubcommand rejects an unknown subcommand of a command that only groups others, and an unknown
// topic of help. Cobra shows the help of the group and succeeds. It also rejects a misspelled
// subcommand of a command that takes files.
func checkSubcommand(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err == nil && cmd.Name() == "help" {
		if cmd, rest, err = root.Find(rest); err != nil {
			return err
		}
	}
	if err != nil || cmd == root || !cmd.HasSubCommands() {
		return nil // cobra reports the errors
	}
	if cmd.Use != cmd.Name() {
		return checkFirstFile(cmd, rest)
	}
	if cmd.ParseFlags(rest) != nil || cmd.Flags().NArg() == 0 {
		return nil
	}
	name, hint := cmd.Flags().Arg(0), ""
	if near, ok := nearestSubcommand(cmd, name); ok {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return command.Usagef(cmd, "unknown command %q for %q%s", name, cmd.CommandPath(), hint)
}

// checkFirstFile rejects a first argument that names no file but is nearly the name of a subcommand.
func checkFirstFile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	near, ok := nearestSubcommand(cmd, args[0])
	if !ok || isPath(args[0]) {
		return nil
	}
	return command.Usagef(cmd, "%q is neither a file nor a command of %q; did you mean %q?", args[0], cmd.CommandPath(), near)
}

// nearestSubcommand returns the subcommand of a command with the most similar name.
func nearestSubcommand(cmd *cobra.Command, name string) (near string, ok bool) {
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return nearest.Of(name, names)
}
