package cli

import (
	"fmt"
	"os"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `man writes a manual page for each command into a directory, and creates the directory if
it does not exist. SOURCE_DATE_EPOCH, if set, determines the date of the pages.

Exit codes: 0 done, 1 the pages cannot be written, 2 usage.`,
		Args: command.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writeManual(cmd.Root(), p.version(), args[0]); err != nil {
				p.PrintErrorf("%v", err)
				return command.Exit(command.Failed)
			}
			return nil
		},
	}
}

// writeManual writes a manual page for each command into a directory.
func writeManual(root *cobra.Command, version, dir string) error {
	root.DisableAutoGenTag = true
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: root.Name() + " " + version, Manual: "Agent runtime"}, dir)
	}
	if err != nil {
		return fmt.Errorf("write the manual pages: %w", err)
	}
	return nil
}
