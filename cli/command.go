package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// Command is a team's own command.
type Command struct {
	// Name is the command's name on the command line.
	Name string
	// Arguments describes the arguments in the usage, such as "FILE…"; empty if absent.
	Arguments string
	// Summary is the command's line in the list of commands; Help, if set, its full help.
	Summary, Help string
	// Flags, if set, declares the command's flags. It is called once for each command line.
	Flags func(*flag.FlagSet)
	// Run runs the command. An error is printed and results in exit code 1.
	Run func(context.Context, *Invocation) error
}

// Invocation is one call of a Command.
type Invocation struct {
	// Args are the arguments after the flags.
	Args []string
	In   io.Reader
	// Out and Err escape terminal control characters and replace invalid UTF-8.
	Out, Err io.Writer

	program *program
}

// Configuration is a valid configuration loaded by a Command.
type Configuration struct {
	File *config.File
	// Revision has every agent, resolved once without calling a model.
	Revision *registry.Revision
	// Warnings are the non-error diagnostics, in the order of the files.
	Warnings diag.List
}

// Load reads configuration files or directories and verifies that every agent resolves, as validate
// does. On errors it prints the diagnostics with their positions and returns an error that ends the
// command with exit code 1 without further output.
func (i *Invocation) Load(ctx context.Context, files ...string) (*Configuration, error) {
	l, err := i.program.load(files, false, zap.NewNop())
	if err != nil {
		return nil, err
	}
	rev, list, err := l.check(ctx)
	if err != nil {
		return nil, err
	}
	if list.HasErrors() {
		return nil, l.refuse(list, i.Err, command.Failed)
	}
	return &Configuration{File: l.file, Revision: rev, Warnings: list}, nil
}

// newOwnCommand returns the cobra command of a team's own command.
func newOwnCommand(p *program, c *Command) *cobra.Command {
	most := 0
	if c.Arguments != "" {
		most = command.Unlimited
	}
	cmd := &cobra.Command{
		Use:     strings.TrimSpace(c.Name + " " + c.Arguments),
		Short:   c.Summary,
		Long:    c.Help,
		Args:    command.Arguments(0, most),
		GroupID: ownGroup,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			err := c.Run(ctx, &Invocation{Args: args, In: p.In, Out: p.Out, Err: p.Err, program: p})
			return command.Fail(ctx, &p.Streams, command.Unredacted, err)
		},
	}
	if c.Flags != nil {
		flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
		c.Flags(flags)
		cmd.Flags().AddGoFlagSet(flags)
	}
	return cmd
}

// addOwnCommands adds a team's own commands. It fails if a command has no name, no function, or a
// name that is taken.
func addOwnCommands(root *cobra.Command, p *program) error {
	if len(p.commands) == 0 {
		return nil
	}
	root.AddGroup(&cobra.Group{ID: ownGroup, Title: "More commands:"})
	for i := range p.commands {
		c := &p.commands[i]
		if c.Name == "" || c.Run == nil {
			return fmt.Errorf("the command %q needs a name and a Run function", c.Name)
		}
		if taken, _, err := root.Find([]string{c.Name}); err == nil && taken != root {
			return fmt.Errorf("two commands are named %q", c.Name)
		}
		root.AddCommand(newOwnCommand(p, c))
	}
	return nil
}
