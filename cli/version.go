package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/internal/buildversion"
	"github.com/spf13/cobra"
)

// buildInfo describes this program's build.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func newVersion(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  command.Arguments(0, 0),
	}
	command.AddFormatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := p.describeBuild()
		return command.NewOutput(&p.Streams, cmd, command.Unredacted).Show(b, b.text(p.Command()))
	}
	return cmd
}

// addVersionFlag adds --version to the root command, which shows its help without it or a command.
// Cobra's own flag would use text/template, which makes the linker keep every exported method of
// the program.
func addVersionFlag(root *cobra.Command, p *program) {
	wanted := root.Flags().Bool("version", false, "print version, commit and Go version")
	showHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root && *wanted {
			fmt.Fprint(p.Out, p.describeBuild().text(p.Command()))
			return
		}
		showHelp(cmd, args)
	})
}

// text writes the version as one line for the version command.
func (b buildInfo) text(command string) string {
	return fmt.Sprintf("%s %s (commit %s, %s)\n", command, b.Version, b.Commit, b.Go)
}

// version returns the version of the program.
func (p *program) version() string { return p.describeBuild().Version }

// describeBuild returns the release set at build time, or the information recorded by the Go
// command.
func (p *program) describeBuild() buildInfo {
	b := buildInfo{Version: cmp.Or(p.release, buildversion.Program()), Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	return b
}
