package cli

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/tools"
	"github.com/spf13/cobra"
)

func newLogout(p *program) *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use:   "logout (FILE | -f FILE…) SERVER",
		Short: "Log out of a remote MCP server",
		Long: `logout deletes a login that the command login has stored, and revokes its tokens if the
authorization server supports that. SERVER is the ID of its entry in tools.

A running server uses the current access token until it expires, unless it is revoked.
A server of the runtime must not use the same SQLite file at the same time.

Exit codes: 0 done, or nobody had logged in, 1 the login could not be deleted or revoked,
2 usage or a file cannot be read, 130 canceled.`,
		Args: func(cmd *cobra.Command, args []string) error { return o.files.arguments(1, 1, 1)(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return logOut(cmd.Context(), cmd, p, args, &o) },
	}
	o.files = filesFlag(cmd)
	ownerFlags(cmd, &o.tenant, &o.subject)
	return cmd
}

// logOut deletes the login and shows the result for its tokens.
func logOut(ctx context.Context, cmd *cobra.Command, p *program, args []string, o *loginOptions) error {
	return o.withLogins(ctx, cmd, p, args, func(_ *loaded, server tools.LoginBundle, tenant *tools.TenantVariables) error {
		done, err := server.LogOut(ctx, tenant)
		switch {
		case err != nil:
			return err
		case done == nil:
			_, err = fmt.Fprintf(p.out, "Nobody has logged in for tenant %s.\n", o.tenant)
		case done.RevokeError != nil:
			return fmt.Errorf("the login is deleted, but its tokens are not revoked: %w", done.RevokeError)
		case done.IsRevoked:
			_, err = fmt.Fprintf(p.out, "Logged out at %s for tenant %s. The tokens are revoked.\n", done.Issuer, o.tenant)
		default:
			_, err = fmt.Fprintf(p.out, "Logged out at %s for tenant %s. The authorization server revokes no tokens.\n", done.Issuer, o.tenant)
		}
		return err
	})
}
