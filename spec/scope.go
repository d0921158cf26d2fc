package spec

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// The scopes that the routes of a server need.
const (
	ScopeModelsRead    = "models:read"
	ScopeRunsRead      = "runs:read"
	ScopeRunsWrite     = "runs:write"
	ScopeSessionsRead  = "sessions:read"
	ScopeSessionsWrite = "sessions:write"
	// ScopeA2AInvoke lets use the agents by A2A, and ScopeA2ADiscovery read their
	// cards where those are not public.
	ScopeA2AInvoke    = "a2a:invoke"
	ScopeA2ADiscovery = "a2a:discovery"
	// ScopeIdentity lets ask who one is.
	ScopeIdentity    = "mantyx.identity:read"
	ScopeMetricsRead = "metrics:read"
)

// Scopes are all scopes that there are.
var Scopes = []string{
	ScopeModelsRead, ScopeRunsRead, ScopeRunsWrite, ScopeSessionsRead, ScopeSessionsWrite,
	ScopeA2AInvoke, ScopeA2ADiscovery, ScopeIdentity, ScopeMetricsRead,
}

// checkScopes checks the scopes of a credential. One that nothing needs does no
// harm: it may be meant for another server.
func checkScopes(scopes Names) diag.List {
	var list diag.List
	for i, scope := range scopes {
		path := diag.Index("scopes", i)
		switch {
		case scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
			list = append(list, diag.New(diag.InvalidValue, path, "%q is no scope", clip.Text(scope)).WithHint("such as %s", ScopeMetricsRead))
		case !slices.Contains(Scopes, scope):
			list = append(list, diag.New(diag.UnknownScope, path, "nothing needs the scope %q", clip.Text(scope)).WithNearest(scope, Scopes))
		}
	}
	return list
}
