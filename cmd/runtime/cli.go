package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// The exit codes of all commands.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitCancelled = 130
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exit ends a command with a code, after it has said all there is to say.
type exit struct{ code int }

// Error names the code.
func (e exit) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// run runs the command line and returns its exit code. Whatever is wrong with
// the command line itself, or with a file that cannot be read, gives exitUsage.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[exit](err); ok {
		return e.code
	}
	fmt.Fprintf(s.err, "runtime: %v\n", err)
	return exitUsage
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "runtime",
		Short: "Validate, explain, compare and run declared agents",
		Long: `runtime turns declared agents into running ones. One YAML file describes
agents, models, providers, tools and plugins; validate proves at deploy time
that every agent in it resolves, without calling a model.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.AddCommand(
		newValidate(s), newExplain(s), newDiff(s), newRun(s),
		newServe(), newSchema(s), newInit(s), newVersion(s),
	)
	return root
}

// choice is a flag with a closed list of values.
type choice struct {
	value   string
	allowed []string
}

// String returns the value.
func (c *choice) String() string { return c.value }

// Type names the flag's type in the help text.
func (*choice) Type() string { return "string" }

// Set takes a value of the list.
func (c *choice) Set(value string) error {
	for _, a := range c.allowed {
		if a == value {
			c.value = value
			return nil
		}
	}
	return fmt.Errorf("choose one of %v", c.allowed)
}

// formatFlag adds --format; the first format is the default.
func formatFlag(cmd *cobra.Command, formats ...string) *choice {
	c := &choice{value: formats[0], allowed: formats}
	usage := "output format: " + formats[0]
	for _, f := range formats[1:] {
		usage += ", " + f
	}
	cmd.Flags().Var(c, "format", usage)
	return c
}

// colored reports whether w is a terminal that may be coloured.
func colored(w io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
