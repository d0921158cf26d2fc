package mcp

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// metadataPath precedes a resource's path in the address of its metadata, by RFC 9728.
const metadataPath = "/.well-known/oauth-protected-resource"

// publicURL returns the server's address without a trailing slash.
func (s *Surface) publicURL() string {
	return strings.TrimSuffix(s.settings.PublicURL(), "/")
}

// serveMetadata tells clients which authorization server issues the tokens.
func (s *Surface) serveMetadata(w http.ResponseWriter, r *http.Request) {
	issuer := s.settings.Issuer()
	if issuer == "" {
		http.Error(w, "this server accepts no tokens of an authorization server", http.StatusNotFound)
		return
	}
	path := cmp.Or(strings.TrimPrefix(r.URL.EscapedPath(), metadataPath), "/mcp")
	auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.publicURL() + path, AuthorizationServers: []string{issuer}, ScopesSupported: []string{settings.ScopeRunsWrite},
		BearerMethodsSupported: []string{"header"}, ResourceName: "Agents",
	}).ServeHTTP(w, r)
}
