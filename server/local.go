package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/service"
)

// everybody is the Authenticator of a server without credentials: whoever
// reaches it is the same principal. What it has to keep out are the pages of
// other sites in the browser of somebody who may reach it.
type everybody struct {
	principal *Principal
	foreign   *http.CrossOriginProtection
	// hosts are the names that the server goes by; nil when any may lead to it.
	hosts map[string]bool
}

// newEverybody returns the authenticator of a server without credentials.
func newEverybody(s *Settings) (*everybody, error) {
	e := &everybody{
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
func (e *everybody) Authenticate(r *http.Request) (*Principal, error) {
	if host := hostname(r.Host); e.hosts != nil && !loopbackName(host) && !e.hosts[host] {
		return nil, ErrForeignSite
	}
	if err := e.foreign.Check(r); err != nil {
		return nil, ErrForeignSite
	}
	return e.principal, nil
}

// hostname returns the name in the Host of a request.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// loopbackName reports whether a name is this machine's for itself.
func loopbackName(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
