package cli

import (
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/config"
	"github.com/spf13/cobra"
)

func newSchema(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file",
		Long: `schema prints the JSON Schema of the configuration file, for editors. It describes all
kinds of components in this program.`,
		Args: command.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Out.Write(config.Schema(p.ConfigKinds()))
			return err
		},
	}
}
