package mcp

import (
	"errors"
	"net/url"
	"slices"

	"github.com/agentruntime/agentruntime/internal/buildversion"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
)

// oauthServer describes the server for package oauth.
func (s *server) oauthServer(address string) oauth.Server {
	a := s.config.Auth
	return oauth.Server{ID: s.id, URL: address, Version: buildversion.Program(), HTTP: s.authHTTP, Client: oauth.Client{
		ID: a.ClientID, Secret: a.ClientSecret, PrivateKey: a.PrivateKey, Scopes: a.Scopes,
		TokenURL: a.TokenURL, MetadataURL: a.ClientURL, RedirectURL: a.RedirectURL,
	}}
}

// clientTokens returns the tokens of the runtime as a client; nil if it has no credentials.
func (s *server) clientTokens(address string) tokenSource {
	if a := s.config.Auth; a == nil || a.Type != authClientCredentials {
		return nil
	}
	return oauth.NewClientCredentials(s.oauthServer(address))
}

// openAuthHTTP prepares requests to authorization servers. A server must not name private
// addresses, except on its own host; a server on this machine may name others on this machine.
func (s *server) openAuthHTTP() error {
	a := s.config.Auth
	switch {
	case a == nil || a.Type == authBearer:
		return nil
	case s.guard != nil || !a.discovers():
		s.authHTTP = oauth.NewHTTPClient(s.transport())
		return nil
	}
	sample, err := s.config.sampleURL()
	if err != nil {
		return err
	}
	u, err := url.Parse(sample)
	if err != nil {
		return errors.New("url is not a URL")
	}
	allow := append(slices.Clone(s.config.AllowPrivate), u.Host)
	if hostlist.IsLoopback(u.Hostname()) {
		allow = append(allow, "localhost", "127.0.0.0/8", "::1")
	}
	guard, err := netguard.New(allow...)
	if err != nil {
		return err
	}
	s.authHTTP = oauth.NewHTTPClient(netguard.Transport(guard))
	return nil
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
