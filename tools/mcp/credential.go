package mcp

import (
	"net/http"

	"github.com/agentruntime/agentruntime/internal/credential"
)

// newCredential returns what a configuration describes. What it asks goes
// through base.
func newCredential(a *ServerAuth, base http.RoundTripper) credential.Credential {
	switch {
	case a == nil:
		return credential.None()
	case a.Type == authBearer:
		return credential.Bearer(a.Token)
	}
	return credential.ClientCredentials(credential.Client{ID: a.ClientID, Secret: a.ClientSecret, TokenURL: a.TokenURL, Scopes: a.Scopes}, base)
}
