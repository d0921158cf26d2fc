// Package command has what commands share: their arguments and flags, their output, and the exit
// codes.
package command

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Unlimited means that a command takes any number of arguments.
const Unlimited = -1

// Arguments checks the number of a command's arguments.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (len(args) <= most || most == Unlimited) {
			return nil
		}
		if len(args) == 0 && least == 1 {
			return Usagef(cmd, "an argument is required")
		}
		given := "no argument is"
		if len(args) > 0 {
			given = terminal.Count(len(args), "argument is", "arguments are")
		}
		return Usagef(cmd, "%s given, but %s", given, allowedCount(least, most, len(args)))
	}
}

// allowedCount describes the numbers of arguments that a command takes to a user who gave another
// number.
func allowedCount(least, most, given int) string {
	switch {
	case most == 0:
		return "none is allowed"
	case given > most && most != Unlimited:
		return "at most " + terminal.Count(most, "is", "are") + " allowed"
	case least == most:
		return terminal.Count(least, "is", "are") + " required"
	default:
		return "at least " + terminal.Count(least, "is", "are") + " required"
	}
}

// Usagef returns a command line error with the command's usage.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf(format+"\nusage: %s\nsee \"%s --help\"", append(args, cmd.UseLine(), cmd.CommandPath())...)
}

// ExcludeFlags makes flags exclude each other.
func ExcludeFlags(cmd *cobra.Command, names ...string) {
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
			return Usagef(cmd, "%s exclude each other", strings.Join(set, " and "))
		}
		if next == nil {
			return nil
		}
		return next(cmd, args)
	}
}

// mayBeEmpty annotates a flag whose value may be empty.
const mayBeEmpty = "may_be_empty"

// AllowEmpty allows an empty value of a flag, or lets the command reject it in its own words.
func AllowEmpty(cmd *cobra.Command, name string) {
	_ = cmd.Flags().SetAnnotation(name, mayBeEmpty, nil) // it fails only without the flag
}

// CheckEmptyFlags rejects flags with an empty value, as an unset shell variable leaves it, unless
// AllowEmpty allows it. An empty value would have the same effect as no flag, such as a check of all
// agents instead of one.
func CheckEmptyFlags(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		_, allowed := f.Annotations[mayBeEmpty]
		if err == nil && !allowed && f.Value.Type() == "string" && f.Value.String() == "" {
			err = Usagef(cmd, "--%s is empty", f.Name)
		}
	})
	return err
}
