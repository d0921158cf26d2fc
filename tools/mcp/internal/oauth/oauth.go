// Package oauth gets the tokens that remote MCP servers require, for a client that acts for itself
// or for a person who has logged in.
//
// A server names its authorization server, so neither is trusted. Their documents are bounded and
// checked, redirects are not followed, and Server.HTTP limits which addresses are reached.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Client describes the runtime as a client of authorization servers.
type Client struct {
	// ID is empty for a client that registers itself.
	ID string
	// Secret or PrivateKey authenticates the client; a public client has neither. The key is a
	// PEM block or a JWK.
	Secret, PrivateKey string
	// Scopes are the scopes to request; empty leaves the choice to the server.
	Scopes []string
	// TokenURL is the token endpoint; empty discovers it.
	TokenURL string
	// MetadataURL is the URL of a client ID metadata document; empty if none.
	MetadataURL string
	// RedirectURL is where a login returns to; empty uses a free port.
	RedirectURL string
}

// Server is an MCP server that requires tokens.
type Server struct {
	// ID is the server's id in the configuration.
	ID  string
	URL string
	// Version is the version of the program, which is sent to the server.
	Version string
	// Client is how the runtime introduces itself.
	Client Client
	// HTTP is the client for the authorization server. NewHTTPClient returns one.
	HTTP *http.Client
}

// requestTimeout bounds one request to an authorization server.
const requestTimeout = 30 * time.Second

// NewHTTPClient returns a client that sends requests through base and follows no redirects,
// because a redirect would send credentials to another address.
func NewHTTPClient(base *http.Transport) *http.Client {
	return &http.Client{
		// Discovery would replace a plain *http.Transport.
		Transport:     transport{base},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       requestTimeout,
	}
}

type transport struct{ base *http.Transport }

// RoundTrip sends a request.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t.base.RoundTrip(req) }

// CloseIdleConnections closes idle connections.
func (t transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// LoginError reports that a server requires a login.
type LoginError struct {
	Server string
	// Reason is the problem with the current login.
	Reason string
	// Scopes are the scopes that the current login lacks.
	Scopes []string
	// Tenant and Subject are the owner of the missing login; Subject is empty for a login of the
	// tenant.
	Tenant, Subject string
}

// Error names the command that logs in. Its arguments are quoted for a shell, because the server
// chooses the scopes.
func (e *LoginError) Error() string {
	command := "runtime login FILE " + quoteWord(e.Server)
	if e.Tenant != "" {
		command += " --tenant " + quoteWord(e.Tenant)
	}
	if e.Subject != "" {
		command += " --subject " + quoteWord(e.Subject)
	}
	for _, scope := range e.Scopes {
		command += " --scope " + quoteWord(scope)
	}
	return fmt.Sprintf("login required: %s; run: %s, with --server URL instead of FILE if a server is running", e.Reason, command)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.:/@+][A-Za-z0-9_.:/@+-]*$`)

// quoteWord returns a word as an argument in a POSIX shell.
func quoteWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// scopeError reports that a token lacks scopes and that the client cannot get them.
type scopeError struct {
	Scopes []string
	// Reason says why.
	Reason string
}

// Error names the scopes.
func (e *scopeError) Error() string {
	return fmt.Sprintf("the token lacks the scopes %s, %s", strings.Join(e.Scopes, " "), e.Reason)
}

// maxScopes bounds how many scopes a server can ask for.
const maxScopes = 64

var errTooManyScopes = errors.New("it asks for too many scopes")

// addScopes returns the union of two lists, in a stable order.
func addScopes(scopes, more []string) []string {
	all := slices.Concat(scopes, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// missingScopes returns the scopes of want that are not in have.
func missingScopes(want, have []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(have, s) })
}

// tokenFunc is a token source that uses the context of a connection.
type tokenFunc func() (string, error)

// Token returns the access token.
func (f tokenFunc) Token() (*oauth2.Token, error) {
	token, err := f()
	if err != nil {
		return nil, err
	}
	return &oauth2.Token{AccessToken: token}, nil
}

// withHTTP returns a context whose token requests use the server's HTTP client.
func (s *Server) withHTTP(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.HTTP)
}

// shortestSecret is the minimum length of a token that is searched for in texts.
const shortestSecret = 8

// hiddenTexts returns the spellings of secrets that must be hidden in a server's texts.
func hiddenTexts(secrets ...string) []string {
	var texts []string
	for _, secret := range secrets {
		if len(secret) >= shortestSecret {
			texts = append(texts, secret, url.QueryEscape(secret))
		}
	}
	return texts
}
