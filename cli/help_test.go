package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// run runs a command line with the shipped components and returns its exit code.
func run(ctx context.Context, args []string, s terminal.Streams) int {
	return (&program{Streams: s, Components: shipped.Components()}).run(ctx, args)
}

// silentProgram returns the program with its shipped components and without output.
func silentProgram() *program {
	return &program{Streams: terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, Components: shipped.Components()}
}

// shownCommands returns a command and all its subcommands that its help shows.
func shownCommands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		if !below.Hidden {
			list = append(list, shownCommands(below)...)
		}
	}
	return list
}

func TestEveryCommandIsInAGroup(t *testing.T) {
	t.Parallel()
	root := newRoot(silentProgram())
	for _, cmd := range root.Commands() {
		if !cmd.Hidden && cmd.GroupID == "" {
			t.Errorf("%s is in no group", cmd.CommandPath())
		}
	}
	if !root.AllChildCommandsHaveGroup() {
		t.Error("the help has commands below no title")
	}
}

// TestEveryCommandHasAnExampleThatParses runs no example but makes its command parse its flags and
// arguments.
func TestEveryCommandHasAnExampleThatParses(t *testing.T) {
	t.Parallel()
	for _, cmd := range shownCommands(newRoot(silentProgram())) {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
			continue
		}
		var shown bool
		for _, args := range exampleCalls(t, cmd.Example) {
			found := checkCall(t, args)
			shown = shown || found == cmd.CommandPath() || strings.HasPrefix(found, cmd.CommandPath()+" ")
		}
		if !shown {
			t.Errorf("no example of %s calls it:\n%s", cmd.CommandPath(), cmd.Example)
		}
	}
}

func TestAnExampleWithAFlagThatDoesNotExistIsFound(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"validate", "--fast", "config.yaml"}, {"explain", "config.yaml"}, {"vaildate"}, {"run", "--format", "xml", "f", "a", "p"}} {
		if _, err := takeCall(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// checkCall makes a command parse its arguments and returns the command's path.
func checkCall(t *testing.T, args []string) string {
	t.Helper()
	found, err := takeCall(args)
	if err != nil {
		t.Errorf("runtime %s: %v", strings.Join(args, " "), err)
	}
	return found
}

func takeCall(args []string) (path string, err error) {
	cmd, rest, err := newRoot(silentProgram()).Find(args)
	if err != nil {
		return "", err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return cmd.CommandPath(), err
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return cmd.CommandPath(), err
	}
	if err := cmd.ValidateFlagGroups(); err != nil {
		return cmd.CommandPath(), err
	}
	return cmd.CommandPath(), cmd.ValidateArgs(cmd.Flags().Args())
}

// exampleCalls returns the arguments of every call of the program in a script.
func exampleCalls(t *testing.T, script string) [][]string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		t.Fatalf("%v:\n%s", err, script)
	}
	var calls [][]string
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "runtime" {
			return true
		}
		var args []string
		for _, word := range call.Args[1:] {
			arg, err := expand.Literal(&expand.Config{}, word)
			if err != nil {
				t.Fatalf("%v:\n%s", err, script)
			}
			args = append(args, arg)
		}
		calls = append(calls, args)
		return true
	})
	return calls
}
