package cli

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/spf13/cobra"
)

// unlimited means that a command takes any number of arguments.
const unlimited = -1

// arguments checks the number of a command's arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (len(args) <= most || most == unlimited) {
			return nil
		}
		if len(args) == 0 && least == 1 {
			return usagef(cmd, "an argument is required")
		}
		given := "no argument is"
		if len(args) > 0 {
			given = terminal.Count(len(args), "argument is", "arguments are")
		}
		return usagef(cmd, "%s given, but %s", given, allowedCount(least, most, len(args)))
	}
}

// allowedCount describes the numbers of arguments that a command takes to a user who gave another
// number.
func allowedCount(least, most, given int) string {
	switch {
	case most == 0:
		return "none is allowed"
	case given > most && most != unlimited:
		return "at most " + terminal.Count(most, "is", "are") + " allowed"
	case least == most:
		return terminal.Count(least, "is", "are") + " required"
	default:
		return "at least " + terminal.Count(least, "is", "are") + " required"
	}
}

// usagef returns a command line error with the command's usage.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf(format+"\nusage: %s\nsee \"%s --help\"", append(args, cmd.UseLine(), cmd.CommandPath())...)
}

// excludeFlags makes flags exclude each other.
func excludeFlags(cmd *cobra.Command, names ...string) {
	cmd.MarkFlagsMutuallyExclusive(names...) // completion offers only one of them
	next := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		var set []string
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				set = append(set, "--"+name)
			}
		}
		if len(set) > 1 {
			return usagef(cmd, "%s exclude each other", strings.Join(set, " and "))
		}
		if next == nil {
			return nil
		}
		return next(cmd, args)
	}
}
