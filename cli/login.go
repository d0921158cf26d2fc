package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/driver"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// loginOptions are the flags of login.
type loginOptions struct {
	files   *fileArguments
	at      remote.Flags
	owner   service.Caller
	scopes  []string
	timeout time.Duration
}

func newLogin(p *program) *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use:   "login (FILE | -f FILE… | --server URL) SERVER",
		Short: "Log in to a remote MCP server",
		Long: `login logs in to a remote MCP server whose auth has the type oauth_authorization_code.
SERVER is the ID of its entry in tools. The command prints a URL to open in a browser on
this machine, and waits until the browser returns. Then it stores the login in the store
of the configuration, encrypted with server.encryption_key, and lists the server's tools.

With --server, a running server of the runtime gets and stores the tokens, and no FILE is
read. Its key needs the scope config:write, or config:write:own for its own tenant. Without
--server, no server of the runtime may use the same SQLite file.

A login belongs to the tenant, or with "per: subject" to the subject, whose turns use it.
Its token is renewed while the server accepts that. A new login replaces it.

Exit codes: 0 done, 1 the login failed, 2 usage or a file cannot be read, 130 canceled.`,
		Args: o.checkArguments,
		RunE: func(cmd *cobra.Command, args []string) error { return logIn(cmd.Context(), cmd, p, args, &o) },
	}
	o.files = filesFlag(cmd)
	o.at.AddFlags(cmd.Flags())
	ownerFlags(cmd, &o.owner)
	cmd.Flags().StringArrayVar(&o.scopes, "scope", nil, "request this scope besides those that the server asks for; can be repeated")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long to wait for the browser")
	return cmd
}

// logIn waits for the browser and stores the login.
func logIn(ctx context.Context, cmd *cobra.Command, p *program, args []string, o *loginOptions) error {
	if o.at.Server != "" {
		return p.logInAtServer(cmd, args[0], o)
	}
	return o.withLogins(ctx, cmd, p, args, func(l *loaded, server tools.LoginBundle, tenant *tools.TenantVariables) error {
		return p.waitForLogin(ctx, l, server, tenant, o)
	})
}

// withLogins finds the server, opens the store and calls use.
func (o *loginOptions) withLogins(ctx context.Context, cmd *cobra.Command, p *program, args []string,
	use func(l *loaded, server tools.LoginBundle, tenant *tools.TenantVariables) error,
) error {
	files, rest := o.files.split(args, 1)
	id := rest[0]
	l, err := p.load(files, false, zap.NewNop())
	if err != nil {
		return err
	}
	defer l.close()
	rev, list, err := l.check(ctx)
	if err != nil {
		return err
	}
	if wrong := loginFaults(list, id); len(wrong) > 0 {
		return l.refuse(wrong, p.Err, command.Failed)
	}
	bundle, err := loginBundle(rev.Set(), id)
	if err != nil {
		return command.Usagef(cmd, "%w", err)
	}
	err = p.withLoginStore(ctx, l, p.StoreDriver(l.file).Open, func(s *service.Service) error {
		return use(l, bundle, &tools.TenantVariables{Declared: rev.Set().Tenants, Source: s.LoginsOf(o.owner.Tenant, o.owner.Subject)})
	})
	return command.Fail(ctx, &p.Streams, l.file.Redact, o.adviseServer(p, l, cmd, id, err))
}

// openStore is one of a driver's open functions.
type openStore func(context.Context, store.Settings) (*driver.Engine, error)

// withLoginStore opens the store and calls use with a service that reads its logins.
func (p *program) withLoginStore(ctx context.Context, l *loaded, open openStore, use func(*service.Service) error) error {
	if p.StoreDriver(l.file).OpenReadOnly == nil {
		return errVolatile
	}
	e, err := open(ctx, app.StoreSettings(l.file, zap.NewNop()))
	if err != nil {
		return err
	}
	settings := app.ServiceSettings(l.file)
	settings.Store = e.Store
	s := service.New(settings)
	if len(settings.EncryptionKey) == 0 {
		err = service.ErrNoEncryptionKey
	} else {
		err = use(s)
	}
	s.Close()
	return errors.Join(err, e.Store.Close())
}

// loginFaults returns the diagnostics that prevent a login: about the server, the store and the
// runtime's server settings. Diagnostics of agents do not matter.
func loginFaults(list diag.List, id string) diag.List {
	var wrong diag.List
	for _, d := range list {
		if !within(d.Path, diag.Key("tools", id)) && !within(d.Path, "store") && !within(d.Path, "server") {
			continue
		}
		if d.Code == diag.UnsetVariable {
			d.Severity = diag.Error
		}
		if d.Severity == diag.Error {
			wrong = append(wrong, d)
		}
	}
	return wrong
}

// loginBundle returns the server with an ID. The error names the servers that need a login.
func loginBundle(set *registry.Set, id string) (tools.LoginBundle, error) {
	var others []string
	for known, bundle := range set.Bundles.All() {
		server, ok := bundle.Source.(tools.LoginBundle)
		switch {
		case !ok || !server.NeedsLogin():
		case known == id:
			return server, nil
		default:
			others = append(others, known)
		}
	}
	if len(others) == 0 {
		return nil, fmt.Errorf("no entry of tools has auth: {type: oauth_authorization_code}, so that %q needs no login", id)
	}
	return nil, fmt.Errorf("%q needs no login; there are %s", id, strings.Join(others, ", "))
}

// waitForLogin waits until the person has logged in and shows the result.
func (p *program) waitForLogin(ctx context.Context, l *loaded, server tools.LoginBundle, tenant *tools.TenantVariables, o *loginOptions) error {
	waiting, cancel := context.WithTimeoutCause(ctx, o.timeout, o.tooLate())
	defer cancel()
	done, err := server.LogIn(waiting, &tools.LoginRequest{
		Tenant: tenant, Scopes: o.scopes, Show: func(address string) { writeLoginURL(p.Out, address) },
	})
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return context.Cause(waiting) // the time may also end while the store or the server is read
	}
	if err != nil {
		return err
	}
	return writeLogin(p.Out, done, o.owner.Tenant, l.file.Redact)
}

func writeLoginURL(out io.Writer, address string) {
	fmt.Fprintf(out, "Open this URL in a browser on this machine:\n\n  %s\n\n", terminal.OneLine(address))
}

// writeLogin shows a stored login. The error is a failure to list the tools.
func writeLogin(out io.Writer, done *tools.LoginResult, tenant string, redact func(string) string) error {
	fmt.Fprintf(out, "Logged in at %s for tenant %s.\n", terminal.OneLine(done.Issuer), tenant)
	if len(done.Scopes) > 0 {
		fmt.Fprintf(out, "Scopes: %s\n", terminal.OneLine(strings.Join(done.Scopes, " ")))
	}
	switch {
	case done.IsRenewable:
		fmt.Fprintln(out, "The token is renewed before it expires.")
	case !done.Expiry.IsZero():
		fmt.Fprintf(out, "The token expires at %s and cannot be renewed.\n", done.Expiry.Format(time.RFC3339))
	}
	if done.ListError != nil {
		return fmt.Errorf("the login is stored, but the tools cannot be listed: %w", done.ListError)
	}
	_, err := fmt.Fprintf(out, "%s in %s\n", terminal.Count(done.Tools, "tool", "tools"), terminal.OneLine(redact(done.Catalog)))
	return err
}

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
	o.at.AddFlags(cmd.Flags())
	ownerFlags(cmd, &o.owner)
	return cmd
}

// logOut deletes the login and shows the result for its tokens.
func logOut(ctx context.Context, cmd *cobra.Command, p *program, args []string, o *loginOptions) error {
	if o.at.Server != "" {
		return p.logOutAtServer(cmd, args[0], o)
	}
	return o.withLogins(ctx, cmd, p, args, func(l *loaded, server tools.LoginBundle, tenant *tools.TenantVariables) error {
		done, err := server.LogOut(ctx, tenant)
		if err != nil {
			return err
		}
		return writeLogout(p.Out, done, o.owner.Tenant, l.file.Redact)
	})
}

// writeLogout shows a deleted login; nil if there was none. The error is a failure to revoke its
// tokens.
func writeLogout(out io.Writer, done *tools.LogoutResult, tenant string, redact func(string) string) (err error) {
	switch {
	case done == nil:
		_, err = fmt.Fprintf(out, "Nobody has logged in for tenant %s.\n", tenant)
	case done.RevokeError != nil:
		return fmt.Errorf("the login is deleted, but its tokens are not revoked: %w", done.RevokeError)
	case done.IsRevoked:
		_, err = fmt.Fprintf(out, "Logged out at %s for tenant %s. The tokens are revoked.\n", terminal.OneLine(redact(done.Issuer)), tenant)
	default:
		_, err = fmt.Fprintf(out, "Logged out at %s for tenant %s. The authorization server revokes no tokens.\n", terminal.OneLine(redact(done.Issuer)), tenant)
	}
	return err
}
