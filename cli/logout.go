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
		Use:   "logout (FILE | -f FILE… | --server URL) SERVER",
		Short: "Log out of a remote MCP server",
		Long: `logout deletes a login that the command login has stored, and revokes its tokens if the
authorization server supports that. SERVER is the ID of its entry in tools.

A running server uses the current access token until it expires, unless it is revoked.
With --server, a running server deletes and revokes. Without it, no server of the runtime
may use the same SQLite file.

Exit codes: 0 done, or nobody had logged in, 1 the login could not be deleted or revoked,
2 usage or a file cannot be read, 130 canceled.`,
		Args: o.checkArguments,
		RunE: func(cmd *cobra.Command, args []string) error { return logOut(cmd.Context(), cmd, p, args, &o) },
	}
	o.files = filesFlag(cmd)
	o.at.flags(cmd.Flags())
	ownerFlags(cmd, &o.tenant, &o.subject)
	return cmd
}

// logOut deletes the login and shows the result for its tokens.
func logOut(ctx context.Context, cmd *cobra.Command, p *program, args []string, o *loginOptions) error {
	if o.at.server != "" {
		return p.logOutAtServer(cmd, args[0], o)
	}
	return o.withLogins(ctx, cmd, p, args, func(l *loaded, server tools.LoginBundle, tenant *tools.TenantVariables) error {
		done, err := server.LogOut(ctx, tenant)
		if err != nil {
			return err
		}
		return p.showLogout(done, o.tenant, l.file.Redact)
	})
}

// showLogout shows a deleted login; nil if there was none. The error is a failure to revoke its
// tokens.
func (p *program) showLogout(done *tools.LogoutResult, tenant string, redact func(string) string) (err error) {
	switch {
	case done == nil:
		_, err = fmt.Fprintf(p.out, "Nobody has logged in for tenant %s.\n", tenant)
	case done.RevokeError != nil:
		return fmt.Errorf("the login is deleted, but its tokens are not revoked: %w", done.RevokeError)
	case done.IsRevoked:
		_, err = fmt.Fprintf(p.out, "Logged out at %s for tenant %s. The tokens are revoked.\n", oneLine(redact(done.Issuer)), tenant)
	default:
		_, err = fmt.Fprintf(p.out, "Logged out at %s for tenant %s. The authorization server revokes no tokens.\n", oneLine(redact(done.Issuer)), tenant)
	}
	return err
}
