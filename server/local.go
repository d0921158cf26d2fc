package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/service"
)

// localAuthenticator is the Authenticator of a server without credentials: whoever
// reaches it is the same principal. What it has to keep out are the pages of
// other sites in the browser of somebody who may reach it.
type localAuthenticator struct {
	principal *Principal
	foreign   *http.CrossOriginProtection
	// hosts are the names that the server goes by; nil when any may lead to it.
	hosts map[string]bool
}

// newLocalAuthenticator returns the authenticator of a server without credentials.
func newLocalAuthenticator(s *Settings) (*localAuthenticator, error) {
	e := &localAuthenticator{
		principal: &Principal{Caller: service.Caller{Tenant: "local", Subject: "local"}},
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

// Authenticate returns the one principal there is. A name that somebody else
// made lead to this machine would make their page part of this site, so only
// the names of the machine itself are answered to.
func (e *localAuthenticator) Authenticate(r *http.Request) (*Principal, error) {
	if host := hostWithoutPort(r.Host); e.hosts != nil && !isLoopbackName(host) && !e.hosts[host] {
		return nil, ErrForeignSite
	}
	if err := e.foreign.Check(r); err != nil {
		return nil, ErrForeignSite
	}
	return e.principal, nil
}

// hostWithoutPort returns the name in the Host of a request.
func hostWithoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// isLoopbackName reports whether a name is this machine's for itself.
func isLoopbackName(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
