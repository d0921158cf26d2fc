package mcp

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
)

// The values of ServerAuth.Per.
const (
	perTenant  = "tenant"
	perSubject = "subject"
)

var _ tools.LoginBundle = (*server)(nil)

// NeedsLogin reports whether the server is used with a person's login.
func (s *server) NeedsLogin() bool { return s.config.Auth != nil && s.config.Auth.Type == authLogin }

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

// openLogin returns the tokens of a login, which may not exist yet.
func (s *server) openLogin(address string, tenant *tools.TenantVariables) (*oauth.Session, error) {
	record, missing, err := s.loginRecord(tenant)
	if err != nil {
		return nil, err
	}
	owner := s.ownerOf(tenant)
	return oauth.NewSession(s.oauthServer(address), record, *missing, func(isUsable bool) { s.noteLogin(owner, isUsable) }), nil
}

// noteLogin records whether an owner's login is usable. It counts at most maxTenants.
func (s *server) noteLogin(owner string, isUsable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isUsable:
		delete(s.loggedOut, owner)
	case len(s.loggedOut) < maxTenants:
		if s.loggedOut == nil {
			s.loggedOut = make(map[string]bool)
		}
		s.loggedOut[owner] = true
	}
}

// loginRecord returns the record of the login that applies to a tenant or subject, and the error
// for a missing login.
func (s *server) loginRecord(tenant *tools.TenantVariables) (tools.LoginRecord, *oauth.LoginError, error) {
	missing := &oauth.LoginError{Server: s.id, Tenant: tenant.TenantName()}
	if !keepsLogins(tenant) {
		missing.Reason = "logins are in the store of the configuration, which this turn does not use"
		return nil, nil, &Error{Server: s.id, Err: missing}
	}
	source := tenant.Source.(tools.LoginSource) //nolint:forcetypeassert // keepsLogins has checked it
	if s.config.Auth.Per == perSubject {
		if missing.Subject = source.SubjectName(); missing.Subject == "" {
			missing.Reason = "the turn has no subject"
			return nil, nil, &Error{Server: s.id, Err: missing}
		}
	}
	return source.LoginRecord(s.id, missing.Subject), missing, nil
}

// keepsLogins reports whether the source of a tenant's variables also has logins.
func keepsLogins(tenant *tools.TenantVariables) bool {
	if tenant == nil {
		return false
	}
	_, ok := tenant.Source.(tools.LoginSource)
	return ok
}

// ownerOf returns the owner of a call's connection.
func (s *server) ownerOf(tenant *tools.TenantVariables) string {
	owner := tenant.TenantName()
	if s.NeedsLogin() && s.config.Auth.Per == perSubject {
		if source, ok := tenant.Source.(tools.LoginSource); ok {
			owner += "\x00" + source.SubjectName()
		}
	}
	return owner
}

// rereadCatalog reads the catalogue again because a login may have written it. Without a login the
// tools cannot be listed.
func (s *server) rereadCatalog() error {
	if s.Known() {
		return nil
	}
	known, err := readCatalog(s.file, s.fingerprint)
	if err != nil {
		return &Error{Server: s.id, Err: &oauth.LoginError{Server: s.id, Reason: "the tools are listed after a login"}}
	}
	s.setCatalog(known)
	return nil
}

func isLoginError(err error) bool {
	_, ok := errors.AsType[*oauth.LoginError](err)
	return ok
}

// hideTexts removes secrets that a server repeats in the description of a tool.
func (t *toolInfo) hideTexts(secrets []string) {
	if len(secrets) == 0 {
		return
	}
	t.Name, t.Description = redactTexts(t.Name, secrets), redactTexts(t.Description, secrets)
	t.InputSchema = []byte(redactTexts(string(t.InputSchema), secrets))
	t.OutputSchema = []byte(redactTexts(string(t.OutputSchema), secrets))
}
