package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// metadata describes how to get tokens for a server.
type metadata struct {
	// resource identifies the server to the authorization server.
	resource string
	// issuer identifies the authorization server.
	issuer, tokenURL string
	// methods are the ways of authenticating at tokenURL.
	methods []string
	// scopes are the scopes of the server; empty if unknown.
	scopes []string
}

// challenge is a server's response to a request without a sufficient token.
type challenge struct {
	// metadataURL is where the server describes itself; empty if unknown.
	metadataURL string
	scopes      []string
	// isStepUp reports whether the token is valid but lacks scopes.
	isStepUp bool
}

// maxDrained bounds how much of a rejection is read, so that its connection can be reused.
const maxDrained = 64 << 10

// readChallenge reads the challenge of a response with status 401 or 403, and closes its body. It
// returns nil for a rejection that no other token would change.
func readChallenge(resp *http.Response) (*challenge, error) {
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	parsed, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, errors.New("its WWW-Authenticate header is malformed")
	}
	c := new(challenge)
	problem := ""
	for _, p := range parsed {
		if c.metadataURL == "" {
			c.metadataURL = p.Params["resource_metadata"]
		}
		if p.Scheme == "bearer" && problem == "" {
			problem = p.Params["error"]
			c.scopes = strings.Fields(p.Params["scope"])
		}
	}
	if len(c.scopes) > maxScopes {
		return nil, errTooManyScopes
	}
	c.isStepUp = problem == "insufficient_scope"
	if resp.StatusCode == http.StatusForbidden && !c.isStepUp {
		return nil, nil //nolint:nilnil // there is no challenge
	}
	return c, nil
}

// discover asks the server, and then its authorization server, how to get a token.
func (s *Server) discover(ctx context.Context, c *challenge) (*metadata, error) {
	found, issuer, err := s.describeResource(ctx, c)
	if err != nil {
		return nil, err
	}
	server, err := auth.GetAuthServerMetadata(ctx, issuer, s.HTTP)
	if err != nil {
		return nil, fmt.Errorf("the metadata of its authorization server cannot be used: %w", err)
	}
	if found.issuer = issuer; server == nil { // the convention of protocol version 2025-03-26
		found.tokenURL = strings.TrimSuffix(issuer, "/") + "/token"
		return found, nil
	}
	if !slices.Contains(server.CodeChallengeMethodsSupported, "S256") {
		return nil, errors.New("its authorization server does not support PKCE with S256")
	}
	if server.TokenEndpoint == "" {
		return nil, errors.New("the metadata of its authorization server names no token endpoint")
	}
	found.issuer, found.tokenURL, found.methods = server.Issuer, server.TokenEndpoint, server.TokenEndpointAuthMethodsSupported
	return found, nil
}

// describeResource reads the metadata of the server and returns its first issuer. The server's
// origin is the issuer of a server without metadata.
func (s *Server) describeResource(ctx context.Context, c *challenge) (found *metadata, issuer string, err error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, "", errors.New("its address is not a URL")
	}
	origin := (&url.URL{Scheme: at.Scheme, Host: at.Host}).String()
	const wellKnown = "/.well-known/oauth-protected-resource"
	type place struct{ url, resource string }
	places := []place{{origin + wellKnown + strings.TrimSuffix("/"+strings.TrimLeft(at.EscapedPath(), "/"), "/"), s.URL}, {origin + wellKnown, origin}}
	if c.metadataURL != "" {
		places = []place{{c.metadataURL, s.URL}}
	}
	for _, p := range places {
		d, err := oauthex.GetProtectedResourceMetadata(ctx, p.url, p.resource, s.HTTP)
		switch {
		case err == nil && len(d.AuthorizationServers) == 0:
			return nil, "", errors.New("its metadata names no authorization server")
		case err == nil && len(d.ScopesSupported) > maxScopes:
			return nil, "", errTooManyScopes
		case err == nil:
			return &metadata{resource: d.Resource, scopes: d.ScopesSupported}, d.AuthorizationServers[0], nil
		case c.metadataURL != "" || !isMissing(err):
			return nil, "", fmt.Errorf("its metadata cannot be used: %w", err)
		}
	}
	return &metadata{resource: s.URL}, origin, nil
}

// isMissing reports whether metadata could not be read because it does not exist. The SDK keeps the
// status only in the text.
func isMissing(err error) bool { return strings.Contains(err.Error(), "bad status 4") }
