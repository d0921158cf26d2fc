package settings

import (
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/spec"
)

// The scopes that a server's routes need.
const (
	ScopeModelsRead    = "models:read"
	ScopeRunsRead      = "runs:read"
	ScopeRunsWrite     = "runs:write"
	ScopeSessionsRead  = "sessions:read"
	ScopeSessionsWrite = "sessions:write"
	// ScopeA2AInvoke allows calling agents over A2A, and ScopeA2ADiscovery reading their cards if
	// those are not public.
	ScopeA2AInvoke    = "a2a:invoke"
	ScopeA2ADiscovery = "a2a:discovery"
	ScopeMetricsRead  = "metrics:read"
	// ScopeConfigRead allows reading the configuration of agents, and ScopeConfigWrite changing it.
	ScopeConfigRead  = "config:read"
	ScopeConfigWrite = "config:write"
	// ScopeOwnConfigRead and ScopeOwnConfigWrite are the same for the overlay of the
	// credential's own tenant. The scopes above include them, for all tenants.
	ScopeOwnConfigRead  = ScopeConfigRead + ownSuffix
	ScopeOwnConfigWrite = ScopeConfigWrite + ownSuffix

	ownSuffix = ":own"
)

// CommonScopes are the scopes that every server knows. Surfaces may have more.
var CommonScopes = []string{
	ScopeModelsRead, ScopeRunsRead, ScopeRunsWrite, ScopeSessionsRead, ScopeSessionsWrite, ScopeMetricsRead,
}

// ExplicitScope reports whether a credential has a scope only if it lists it: a credential without
// scopes, which may do everything else, may neither read nor change the configuration.
func ExplicitScope(scope string) bool {
	wide := WiderScope(scope)
	return wide == ScopeConfigRead || wide == ScopeConfigWrite
}

// WiderScope returns the scope that includes another one, which may be the same.
func WiderScope(scope string) string { return strings.TrimSuffix(scope, ownSuffix) }

// Scopes are the scopes that a configuration is checked against if the server's surfaces are
// unknown.
var Scopes = append(CommonScopes[:len(CommonScopes):len(CommonScopes)], ScopeA2AInvoke, ScopeA2ADiscovery, ScopeConfigRead, ScopeConfigWrite, ScopeOwnConfigRead, ScopeOwnConfigWrite)

// checkScopes checks the scopes of a credential.
func checkScopes(scopes spec.Names) diag.List {
	var list diag.List
	for i, scope := range scopes {
		if !validScope(scope) {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("scopes", i), "unknown scope %q", clip.Text(scope)).WithHint("such as %s", ScopeMetricsRead))
		}
	}
	return list
}

// validScope reports whether a scope can be sent.
func validScope(scope string) bool {
	return scope != "" && !strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
