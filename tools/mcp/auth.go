package mcp

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/buildversion"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/landing"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

// The types of ServerAuth.
const (
	authBearer            = "bearer"
	authClientCredentials = "oauth_client_credentials"
	authLogin             = "oauth_authorization_code"
)

// serverAuth is how the runtime authenticates to a server.
type serverAuth struct {
	Type         string   `json:"type" required:"true" enum:"bearer|oauth_client_credentials|oauth_authorization_code" doc:"The method: a fixed token, tokens issued by an authorization server for a client's credentials, or tokens of a person logged in with runtime login."`
	Token        string   `json:"token,omitempty" secret:"true" of:"bearer" doc:"The token. Required."`
	TokenURL     string   `json:"token_url,omitempty" of:"oauth_client_credentials" doc:"The authorization server's token URL: http or https. If empty, it comes from the server, and tokens are requested for its address."`
	ClientID     string   `json:"client_id,omitempty" of:"oauth_client_credentials|oauth_authorization_code" doc:"The client's ID. Required for oauth_client_credentials; without it a login registers the runtime as a client."`
	ClientSecret string   `json:"client_secret,omitempty" secret:"true" of:"oauth_client_credentials|oauth_authorization_code" doc:"The client's secret. oauth_client_credentials requires it or private_key."`
	PrivateKey   string   `json:"private_key,omitempty" secret:"true" of:"oauth_client_credentials" doc:"The private key that signs the client's assertions, instead of client_secret: an RSA, EC or Ed25519 key, as PEM or JWK."`
	Scopes       []string `json:"scopes,omitempty" of:"oauth_client_credentials|oauth_authorization_code" doc:"The scopes of the tokens. Defaults to those that the server asks for; if set, oauth_client_credentials requests no others."`
	ClientURL    string   `json:"client_metadata_url,omitempty" of:"oauth_authorization_code" doc:"The https URL of a client ID metadata document, used where the authorization server supports it."`
	RedirectURL  string   `json:"redirect_url,omitempty" of:"oauth_authorization_code" doc:"The registered redirect URL of the client, on a loopback host with a port, as in http://127.0.0.1:8976/callback. Defaults to a free port."`
	Per          string   `json:"per,omitempty" enum:"tenant|subject" default:"tenant" of:"oauth_authorization_code" doc:"Whose login a turn uses: its tenant's or its owning subject's."`
}

// discovers reports whether the server names the authorization server. It is safe for nil.
func (a *serverAuth) discovers() bool {
	return a != nil && (a.Type == authLogin || a.Type == authClientCredentials && a.TokenURL == "")
}

// checkFields checks the fields of the type. Paths are relative to auth.
func (a *serverAuth) checkFields() diag.List {
	var list diag.List
	need := func(field, value string) {
		if value == "" {
			list = append(list, diag.New(diag.MissingField, field, "%s is required by auth of type %s", field, a.Type))
		}
	}
	switch a.Type {
	case authBearer:
		need("token", a.Token)
		if strings.ContainsFunc(a.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			list = append(list, diag.New(diag.InvalidValue, "token", "the token has a character that tokens cannot have"))
		}
	case authClientCredentials:
		need("client_id", a.ClientID)
		if a.PrivateKey == "" {
			need("client_secret", a.ClientSecret)
		} else if _, err := oauth.ParseKey(a.PrivateKey); err != nil {
			list = append(list, diag.New(diag.InvalidValue, "private_key", "%s", err))
		} else if a.ClientSecret != "" {
			list = append(list, diag.New(diag.InvalidValue, "client_secret", "client_secret and private_key exclude each other"))
		}
		if a.TokenURL != "" {
			list = append(list, checkURL("token_url", a.TokenURL)...)
		}
	case authLogin:
		list = append(list, a.checkLogin()...)
	default:
		list = append(list, diag.New(diag.InvalidValue, "type", "type is %q; allowed are bearer, oauth_client_credentials and oauth_authorization_code", a.Type))
	}
	if slices.ContainsFunc(a.Scopes, func(s string) bool { return s == "" || strings.ContainsFunc(s, isNoScope) }) {
		list = append(list, diag.New(diag.InvalidValue, "scopes", "a scope must not be empty or have spaces, quotes, backslashes or control characters"))
	}
	return list
}

// isNoScope reports whether a character is invalid in scopes (RFC 6749, section 3.3).
func isNoScope(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// checkLogin checks the fields of a login.
func (a *serverAuth) checkLogin() diag.List {
	var list diag.List
	if a.ClientSecret != "" && a.ClientID == "" {
		list = append(list, diag.New(diag.MissingField, "client_id", "client_id is required with client_secret"))
	}
	if a.ClientURL != "" {
		if u, err := url.Parse(a.ClientURL); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			list = append(list, diag.New(diag.InvalidValue, "client_metadata_url", "client_metadata_url must be an https URL with a path"))
		}
	}
	if a.RedirectURL != "" && !landing.IsURL(a.RedirectURL) {
		list = append(list, diag.New(diag.InvalidValue, "redirect_url", "redirect_url must be an http URL on a loopback host, with a port and a path"))
	}
	if a.Per != "" && a.Per != perTenant && a.Per != perSubject {
		list = append(list, diag.New(diag.InvalidValue, "per", "per is %q; allowed are tenant and subject", a.Per))
	}
	return list
}

// tokenSource gets the tokens of a server.
type tokenSource interface {
	auth.OAuthHandler
	// Secrets returns the current secrets, which must be hidden in the server's texts.
	Secrets() []string
}

// tokens returns the current tokens, which must be hidden.
func (t *target) tokens() []string {
	if t.oauth == nil {
		return nil
	}
	return t.oauth.Secrets()
}

// hidden returns the texts to hide in the server's results and messages.
func (t *target) hidden() []string { return slices.Concat(t.own, t.tokens()) }

// oauthServer describes the server for package oauth.
func (s *server) oauthServer(address string) oauth.Server {
	a := s.config.Auth
	return oauth.Server{ID: s.id, URL: address, Version: buildversion.Program(), HTTP: s.authHTTP, Client: oauth.Client{
		ID: a.ClientID, Secret: a.ClientSecret, PrivateKey: a.PrivateKey, Scopes: a.Scopes,
		TokenURL: a.TokenURL, MetadataURL: a.ClientURL, RedirectURL: a.RedirectURL,
	}}
}

// clientTokens returns the tokens of the runtime as a client; nil if it has no credentials.
func (s *server) clientTokens(address string) tokenSource {
	if a := s.config.Auth; a == nil || a.Type != authClientCredentials {
		return nil
	}
	return oauth.NewClientCredentials(s.oauthServer(address))
}

// openAuthHTTP prepares requests to authorization servers. A server must not name private
// addresses, except on its own host; a server on this machine may name others on this machine.
func (s *server) openAuthHTTP() error {
	a := s.config.Auth
	switch {
	case a == nil || a.Type == authBearer:
		return nil
	case s.guard != nil || !a.discovers():
		s.authHTTP = oauth.NewHTTPClient(s.transport())
		return nil
	}
	sample, err := s.config.sampleURL()
	if err != nil {
		return err
	}
	u, err := url.Parse(sample)
	if err != nil {
		return errors.New("url is not a URL")
	}
	allow := append(slices.Clone(s.config.AllowPrivate), u.Host)
	if hostlist.IsLoopback(u.Hostname()) {
		allow = append(allow, "localhost", "127.0.0.0/8", "::1")
	}
	guard, err := netguard.New(allow...)
	if err != nil {
		return err
	}
	s.authHTTP = oauth.NewHTTPClient(netguard.Transport(guard))
	return nil
}
