package cli

import (
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/spf13/cobra"
)

// fileArguments are the files of a command that has further arguments: either the first arguments,
// or the values of --file, which may be repeated.
type fileArguments struct{ files []string }

// filesFlag adds --file.
func filesFlag(cmd *cobra.Command) *fileArguments {
	f := new(fileArguments)
	cmd.Flags().StringArrayVarP(&f.files, "file", "f", nil, "read this configuration `FILE` or directory instead of the first argument; can be repeated")
	return f
}

// arguments checks that least to most arguments follow the files. files is the maximum number of
// files among the arguments.
func (f *fileArguments) arguments(least, most, files int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(f.files) > 0:
			return command.Arguments(least, most)(cmd, args)
		case files == command.Unlimited:
			return command.Arguments(least+1, command.Unlimited)(cmd, args)
		default:
			return command.Arguments(least+1, most+files)(cmd, args)
		}
	}
}

// split returns the files, which are the first n arguments unless --file names them,
// and the other arguments.
func (f *fileArguments) split(args []string, n int) (files, rest []string) {
	if len(f.files) > 0 {
		return f.files, args
	}
	return args[:n], args[n:]
}
