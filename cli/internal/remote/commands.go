package remote

import (
	"context"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/spf13/cobra"
)

// commands makes commands that talk to a server with a client C.
type commands[C any] struct {
	*terminal.Streams
	at        *Flags
	newClient func(*native.Client) C
}

// newCommand returns a command that runs with a client of the server.
func (r *commands[C]) newCommand(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, out *command.Output, c C, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use + " --server URL", Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		return r.call(cmd, func(ctx context.Context, out *command.Output, c C) error { return run(ctx, out, c, args) })
	}}
}

// newReport is newCommand with --format.
func (r *commands[C]) newReport(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, out *command.Output, c C, args []string) error) *cobra.Command {
	cmd := r.newCommand(use, short, args, run)
	command.AddFormatFlag(cmd, "text", "json")
	return cmd
}

// call calls do with a client of the server.
func (r *commands[C]) call(cmd *cobra.Command, do func(ctx context.Context, out *command.Output, c C) error) error {
	if err := r.at.NeedServer(cmd); err != nil {
		return err
	}
	return r.at.Connect(cmd.Context(), r.Streams, func(client *native.Client, redact func(string) string) error {
		return do(cmd.Context(), command.NewOutput(r.Streams, cmd, redact), r.newClient(client))
	})
}

// newGroup returns a command that only has subcommands.
func newGroup(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: command.Arguments(0, 0), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// configs makes commands that read and change the configuration of a server.
type configs = commands[*admin.Client]

// newConfigs returns the configs for a server.
func newConfigs(s *terminal.Streams, at *Flags) *configs {
	return &configs{s, at, at.configClient}
}

// configClient returns a client for the configuration selected by the flags.
func (r *Flags) configClient(c *native.Client) *admin.Client {
	if r.Tenant != "" {
		return admin.NewClient(c).ForTenant(r.Tenant)
	}
	return admin.NewClient(c)
}

// CallAdmin calls do with a client for the configuration that the flags select.
func (r *Flags) CallAdmin(s *terminal.Streams, cmd *cobra.Command, do func(context.Context, *command.Output, *admin.Client) error) error {
	return newConfigs(s, r).call(cmd, do)
}

// flows makes commands for the workflows of a server.
type flows = commands[*workflows.Client]
