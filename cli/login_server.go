package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/internal/landing"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/spf13/cobra"
)

// checkArguments checks the arguments of login and logout: FILE and SERVER, or SERVER with --server.
func (o *loginOptions) checkArguments(cmd *cobra.Command, args []string) error {
	if done, err := o.at.Check(cmd, args, 1, []string{"file"}); done {
		return err
	}
	return o.files.arguments(1, 1, 1)(cmd, args)
}

// logInAtServer has a running server log in and store the tokens. This machine has the browser.
func (p *program) logInAtServer(cmd *cobra.Command, id string, o *loginOptions) error {
	return o.at.CallAdmin(&p.Streams, cmd, func(ctx context.Context, out *command.Output, c *admin.Client) error {
		waiting, cancel := context.WithTimeoutCause(ctx, o.timeout, o.tooLate())
		defer cancel()
		done, err := p.finishLogin(waiting, c, id, o)
		if err != nil && ctx.Err() == nil && waiting.Err() != nil {
			return context.Cause(waiting)
		}
		if err != nil {
			return err
		}
		result := &tools.LoginResult{Issuer: done.Issuer, Scopes: done.Scopes, Expiry: done.ExpiresAt, IsRenewable: done.Renewable, Tools: done.Tools, Catalog: done.Catalog}
		if done.ListError != "" {
			result.ListError = errors.New(done.ListError)
		}
		return writeLogin(p.Out, result, o.owner.Tenant, out.Redact)
	})
}

// finishLogin starts a login at a server, waits for the browser and passes on its redirect.
func (p *program) finishLogin(ctx context.Context, c *admin.Client, id string, o *loginOptions) (*admin.Login, error) {
	page, err := landing.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { page.Close() }()
	started, err := c.StartLogin(ctx, o.owner.Tenant, id, &admin.LoginRequest{Subject: o.owner.Subject, Scopes: o.scopes, RedirectURL: page.URL()})
	if err != nil {
		return nil, err
	}
	if started.RedirectURL != page.URL() { // the server's configuration has another one
		if !landing.IsURL(started.RedirectURL) {
			return nil, errors.New("the server names a redirect URL that is not on a loopback host")
		}
		other, err := landing.Open(ctx, started.RedirectURL)
		if err != nil {
			return nil, err
		}
		page.Close()
		page = other
	}
	u, err := url.Parse(started.URL)
	if err != nil {
		return nil, errors.New("the server returns no URL to open")
	}
	writeLoginURL(p.Out, started.URL)
	query, err := page.Wait(ctx, u.Query().Get("state"))
	if err != nil {
		return nil, err
	}
	return c.FinishLogin(ctx, o.owner.Tenant, id, &admin.FinishRequest{ID: started.ID, Redirect: query.Encode()})
}

// logOutAtServer has a running server delete a login.
func (p *program) logOutAtServer(cmd *cobra.Command, id string, o *loginOptions) error {
	return o.at.CallAdmin(&p.Streams, cmd, func(ctx context.Context, out *command.Output, c *admin.Client) error {
		done, err := c.DeleteLogin(ctx, o.owner.Tenant, id, o.owner.Subject)
		if err != nil {
			return err
		}
		if !done.Found {
			return writeLogout(p.Out, nil, o.owner.Tenant, out.Redact)
		}
		result := &tools.LogoutResult{Issuer: done.Issuer, IsRevoked: done.Revoked}
		if done.RevokeError != "" {
			result.RevokeError = errors.New(done.RevokeError)
		}
		return writeLogout(p.Out, result, o.owner.Tenant, out.Redact)
	})
}

// tooLate is the error after --timeout.
func (o *loginOptions) tooLate() error {
	return fmt.Errorf("nobody logged in within %s", o.timeout.Round(time.Millisecond))
}

// adviseServer adds to the error for a locked store how to use the server that has locked it.
func (o *loginOptions) adviseServer(p *program, l *loaded, cmd *cobra.Command, id string, err error) error {
	if _, ok := errors.AsType[*store.LockedError](err); !ok {
		return err
	}
	s := &l.file.Server
	if !s.Authenticated() {
		return fmt.Errorf("%w\n  stop that process first; if it is a server with keys, \"%s %s %s --server URL\" works beside it", err, p.Command(), cmd.Name(), id)
	}
	scheme := "http"
	if s.TLS != nil {
		scheme = "https"
	}
	address := cmp.Or(s.PublicURL, scheme+"://"+s.Address())
	line := fmt.Sprintf("%s %s %s --server %s --tenant %s", p.Command(), cmd.Name(), id, address, o.owner.Tenant)
	if cmd.Flags().Changed("subject") {
		line += " --subject " + o.owner.Subject
	}
	return fmt.Errorf("%w\n  use the running server, with a key in %s: %s", err, remote.KeyVariable, line)
}
