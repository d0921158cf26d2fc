package cli

import (
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/spf13/cobra"
)

func newDoctor(p *program) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor URL | FILE… (--provider ID | --mcp ID)",
		Short: "Check an A2A peer, the provider of a model, or an MCP server",
		Long: `doctor checks an A2A peer that agents can delegate to: its agent card, and how each of
its interfaces answers calls that change nothing. Each check reports what was found and
what would be right. If a peer lists several agents, all of them are checked. URL is the
base_url of an endpoint or remote source, or the URL of the card or list, which ends in
.json.

With --provider, doctor asks a model of this provider in the files for a text and for a
tool call, which costs a few tokens. It shows what was sent, what the server rejected
and what was understood, and names the setting to change.

With --mcp, doctor connects to this MCP server in the files and lists its tools with
their effects. It calls none of them, and writes the catalog. If the server requires
a login, doctor shows whether there is one, and the command to run if there is none or
it has expired; --tenant and --subject name whose login is checked.

Exit codes: 0 no errors, 1 errors, 2 usage.`,
		Args: command.Arguments(1, command.Unlimited),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.provider != "" && o.mcp != "":
				return command.Usagef(cmd, "--provider and --mcp exclude each other")
			case o.mcp != "":
				return checkToolServer(cmd.Context(), cmd, p, args, &o)
			case o.provider != "":
				return checkProvider(cmd.Context(), cmd, p, args, &o)
			case o.model != "":
				return command.Usagef(cmd, "--model needs --provider")
			case !strings.Contains(args[0], "://") && isYAML(args[0]):
				return command.Usagef(cmd, "%s is a file; --provider ID or --mcp ID says what of it to check", args[0])
			}
			if err := command.Arguments(1, 1)(cmd, args); err != nil {
				return err
			}
			return doctor(cmd.Context(), cmd, p, args[0], &o)
		},
	}
	command.AddFormatFlag(cmd, "text", "json")
	cmd.Flags().StringArrayVar(&o.headers, "header", nil, "a header of all requests to the peer, as \"Name: value\"")
	cmd.Flags().StringSliceVar(&o.allowPrivate, "allow-private", nil, "allow these hosts with private addresses")
	cmd.Flags().StringSliceVar(&o.allowOrigins, "allow-origin", nil, "allow interfaces at these other origins")
	cmd.Flags().StringVar(&o.keys, "signature-keys", "", "file with the JWK set that must have signed the card")
	cmd.Flags().StringVar(&o.provider, "provider", "", "check this provider of the files instead of a peer")
	cmd.Flags().StringVar(&o.model, "model", "", "with --provider, the ID of the model to call; default: the first one")
	cmd.Flags().StringVar(&o.mcp, "mcp", "", "check this MCP server of the files instead of a peer")
	cmd.Flags().StringVar(&o.tenant, "tenant", settings.DefaultTenant, "with --mcp, the tenant whose login is checked")
	cmd.Flags().StringVar(&o.subject, "subject", "cli", "with --mcp, the subject whose login is checked")
	cmd.Flags().BoolVar(&o.allowOld, "allow-v0_3", false, "take a peer that speaks version 0.3 alone for usable")
	return cmd
}
