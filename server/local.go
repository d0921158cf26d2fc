package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/service"
)

// localAuthenticator is the Authenticator of a server without credentials: every client is the same
// principal. It rejects requests that other sites' pages send from the browser of a user who can
// reach the server.
type localAuthenticator struct {
	principal *Principal
	foreign   *http.CrossOriginProtection
	// hosts are the host names of the server; nil allows any.
	hosts map[string]bool
}

// newLocalAuthenticator returns the authenticator of a server without credentials.
func newLocalAuthenticator(s *Settings) (*localAuthenticator, error) {
	e := &localAuthenticator{
		principal: &Principal{Caller: service.Caller{Tenant: settings.LocalOwner, Subject: settings.LocalOwner, ExtraScopes: s.LocalScopes}, AuthSource: "local"},
		foreign:   http.NewCrossOriginProtection(),
	}
	for _, origin := range s.CORSOrigins {
		if err := e.foreign.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("allow the origin %q where no credential is needed: %w", origin, err)
		}
	}
	if !s.AllowUnauthenticated {
		e.hosts = map[string]bool{}
		if u, err := url.Parse(s.PublicURL); err == nil && u.Hostname() != "" {
			e.hosts[strings.ToLower(u.Hostname())] = true
		}
	}
	return e, nil
}

// Authenticate returns the only principal. Requests with a foreign Host are rejected, to prevent
// DNS rebinding.
func (e *localAuthenticator) Authenticate(r *http.Request) (*Principal, error) {
	if host := hostWithoutPort(r.Host); e.hosts != nil && !isLoopbackName(host) && !e.hosts[host] {
		return nil, ErrForeignSite
	}
	if err := e.foreign.Check(r); err != nil {
		return nil, ErrForeignSite
	}
	return e.principal, nil
}

// hostWithoutPort returns the name in the Host header of a request.
func hostWithoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// isLoopbackName reports whether a host name is a loopback address or localhost.
func isLoopbackName(host string) bool {
	return hostlist.IsLoopback(host) || strings.HasSuffix(host, ".localhost")
}
