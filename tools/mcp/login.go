package mcp

import (
	"context"

	"github.com/agentruntime/agentruntime/tools"
)

var _ tools.LoginBundle = (*server)(nil)

// RedirectURL returns the configured redirect URL of the logins, or "".
func (s *server) RedirectURL() string { return s.config.Auth.RedirectURL }

// LogIn has a person log in, stores the login, and lists the tools with it.
func (s *server) LogIn(ctx context.Context, asked *tools.LoginRequest) (*tools.LoginResult, error) {
	to, err := s.bindTarget(ctx, asked.Tenant)
	if err != nil {
		return nil, err
	}
	record, _, err := s.loginRecord(asked.Tenant)
	if err != nil {
		return nil, err
	}
	server := s.oauthServer(to.url)
	result, err := server.LogIn(ctx, record, to.headers, asked)
	if err != nil {
		return nil, &Error{Server: s.id, Err: to.hideSecrets(err)}
	}
	result.Catalog = s.file
	result.ListError = s.listToolsAt(ctx, to)
	members, _ := s.Members()
	result.Tools = len(members)
	return result, nil
}

// CheckLogin returns the stored login.
func (s *server) CheckLogin(ctx context.Context, tenant *tools.TenantVariables) (*tools.LoginResult, error) {
	to, err := s.bindTarget(ctx, tenant)
	if err != nil {
		return nil, err
	}
	session, err := s.openLogin(to.url, tenant)
	if err != nil {
		return nil, err
	}
	return session.Check(ctx)
}

// LogOut deletes a login and revokes its tokens.
func (s *server) LogOut(ctx context.Context, tenant *tools.TenantVariables) (*tools.LogoutResult, error) {
	to, err := s.bindTarget(ctx, tenant)
	if err != nil {
		return nil, err
	}
	record, _, err := s.loginRecord(tenant)
	if err != nil {
		return nil, err
	}
	server := s.oauthServer(to.url)
	result, err := server.LogOut(ctx, record)
	if err != nil {
		return nil, &Error{Server: s.id, Err: to.hideSecrets(err)}
	}
	return result, nil
}
