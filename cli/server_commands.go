package cli

import (
	"context"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/spf13/cobra"
)

// serverCommands makes commands that talk to a server with a client C.
type serverCommands[C any] struct {
	*terminal.Streams
	at        *serverFlags
	newClient func(*native.Client) C
}

// newCommand returns a command that runs with a client of the server.
func (r *serverCommands[C]) newCommand(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, out *output, c C, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use + " --server URL", Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		return r.call(cmd, func(ctx context.Context, out *output, c C) error { return run(ctx, out, c, args) })
	}}
}

// newReport is newCommand with --format.
func (r *serverCommands[C]) newReport(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, out *output, c C, args []string) error) *cobra.Command {
	cmd := r.newCommand(use, short, args, run)
	formatFlag(cmd, "text", "json")
	return cmd
}

// call calls do with a client of the server.
func (r *serverCommands[C]) call(cmd *cobra.Command, do func(ctx context.Context, out *output, c C) error) error {
	if err := r.at.needServer(cmd); err != nil {
		return err
	}
	return r.at.connect(cmd.Context(), r.Streams, func(client *native.Client, redact func(string) string) error {
		return do(cmd.Context(), newOutput(r.Streams, cmd, redact), r.newClient(client))
	})
}

// newGroup returns a command that only has subcommands.
func newGroup(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: arguments(0, 0), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// configs makes commands that read and change the configuration of a server.
type configs = serverCommands[*admin.Client]

// newConfigs returns the configs for a server.
func newConfigs(s *terminal.Streams, at *serverFlags) *configs {
	return &configs{s, at, at.configClient}
}

// configClient returns a client for the configuration selected by the flags.
func (r *serverFlags) configClient(c *native.Client) *admin.Client {
	if r.tenant != "" {
		return admin.NewClient(c).ForTenant(r.tenant)
	}
	return admin.NewClient(c)
}

// callAdmin calls do with a client for the configuration that the flags select.
func (r *serverFlags) callAdmin(s *terminal.Streams, cmd *cobra.Command, do func(context.Context, *output, *admin.Client) error) error {
	return newConfigs(s, r).call(cmd, do)
}

// flows makes commands for the workflows of a server.
type flows = serverCommands[*workflows.Client]
