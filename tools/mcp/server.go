package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/tools"
)

// server is an entry of a configuration: the tools of one server, and the connection that they
// share.
type server struct {
	id          string
	config      config
	logger      *slog.Logger
	file        string
	fingerprint string
	filter      *filter
	secrets     []string
	link        *link
	// writeTime is how long a program may leave its input unread, and transport returns the
	// transport for requests.
	writeTime time.Duration
	transport func() *http.Transport

	// refersToTenant reports whether the settings use variables of tenants, and isForeign whether
	// these decide the host, which guard must then allow.
	refersToTenant, isForeign bool
	guard                     *netguard.Guard
	// authHTTP is the client for authorization servers; nil if absent.
	authHTTP *http.Client

	// places are the connections of programs in session workspaces, and tenants the connections
	// of tenants.
	places, tenants places
	// parked are the calls that wait for answers.
	parked parkedFlights

	mu sync.Mutex
	// catalog is nil while the tools are not known, and unknown says why.
	catalog *catalog
	unknown error
	members []tools.Member
	// loggedOut are the owners whose login is missing, has expired or lacks scopes, as of its
	// latest use.
	loggedOut map[string]bool
	found     diag.List
	changed   func(ctx context.Context)
}

var (
	_ tools.TenantBundle         = (*server)(nil)
	_ tools.TenantReferrer       = (*server)(nil)
	_ tools.ConnectedBundle      = (*server)(nil)
	_ interface{ Close() error } = (*server)(nil)
)

// NeedsLogin reports whether the server is used with a person's login.
func (s *server) NeedsLogin() bool { return s.config.Auth != nil && s.config.Auth.Type == authLogin }

// Prefix returns the prefix of the tool ids.
func (s *server) Prefix() string { return s.config.ToolPrefix(s.id) }

// Known reports whether there is a catalog.
func (s *server) Known() bool { return s.currentCatalog() != nil }

// currentCatalog returns the catalog; nil while the tools are not known.
func (s *server) currentCatalog() *catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog
}

// Connections returns the state of the connections.
func (s *server) Connections() tools.Connections {
	open, failures := s.link.state()
	c := tools.Connections{Open: s.places.countOpen() + s.tenants.countOpen(), Failures: failures}
	if open {
		c.Open++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Tools, c.LoggedOut = len(s.members), len(s.loggedOut)
	return c
}

// OnChange sets the function to call when the server has announced changed tools.
func (s *server) OnChange(changed func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
}

// notifyChange calls the function that OnChange set.
func (s *server) notifyChange(ctx context.Context) {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed(ctx)
	}
}

// Close ends the connection and the program, and waits for both to finish. Running calls fail.
func (s *server) Close() error {
	s.parked.close()
	s.link.close()
	s.places.close()
	s.tenants.close()
	if s.authHTTP != nil {
		s.authHTTP.CloseIdleConnections()
	}
	return nil
}
