package spec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// Auth is how the runtime authenticates to a peer. It has the fields of its type, and no others.
type Auth struct {
	Type         string   `json:"type" required:"true" enum:"bearer|api_key|oauth_client_credentials" doc:"The method: a fixed token, a key in the request, or tokens that an authorization server issues for a client's id and secret."`
	Token        string   `json:"token,omitempty" secret:"true" of:"bearer" doc:"The bearer token. Required."`
	Key          string   `json:"key,omitempty" secret:"true" of:"api_key" doc:"The key. Required."`
	In           string   `json:"in,omitempty" enum:"header|query|cookie" default:"header" of:"api_key" doc:"The part of the request that carries the key."`
	Name         string   `json:"name,omitempty" default:"X-API-Key" of:"api_key" doc:"The name of the header, query parameter or cookie."`
	TokenURL     string   `json:"token_url,omitempty" of:"oauth_client_credentials" doc:"The authorization server's token URL: http or https. Required."`
	ClientID     string   `json:"client_id,omitempty" of:"oauth_client_credentials" doc:"The client's id. Required."`
	ClientSecret string   `json:"client_secret,omitempty" secret:"true" of:"oauth_client_credentials" doc:"The client's secret. Required."`
	Scopes       []string `json:"scopes,omitempty" of:"oauth_client_credentials" doc:"The scopes of the tokens."`
}

// The types of Auth, the parts of a request that carry a key, and the default name of the key
// there.
const (
	AuthBearer            = "bearer"
	AuthAPIKey            = "api_key"
	AuthClientCredentials = "oauth_client_credentials"

	InHeader = "header"
	InQuery  = "query"
	InCookie = "cookie"

	DefaultKeyName = "X-API-Key"
)

// MarshalJSON writes the credential without its secrets.
func (a Auth) MarshalJSON() ([]byte, error) {
	type plain Auth
	for _, secret := range []*string{&a.Token, &a.Key, &a.ClientSecret} {
		if *secret != "" {
			*secret = redact.Placeholder
		}
	}
	a.TokenURL = redact.URL(a.TokenURL)
	return json.Marshal(plain(a))
}

// Secrets returns the secret values of the credential.
func (a *Auth) Secrets() []string {
	return slices.DeleteFunc([]string{a.Token, a.Key, a.ClientSecret}, func(s string) bool { return s == "" })
}

// Validate checks the record by itself. Paths are relative to the credential.
func (a *Auth) Validate() diag.List {
	switch a.Type {
	case AuthBearer:
		return append(checkSecret("token", a.Token), a.checkForeign("token")...)
	case AuthAPIKey:
		return append(a.checkKey(), a.checkForeign("key", "in", "name")...)
	case AuthClientCredentials:
		return append(a.checkClient(), a.checkForeign("token_url", "client_id", "client_secret", "scopes")...)
	}
	return diag.List{diag.New(diag.InvalidEndpoint, "type",
		"auth type %q is not supported; allowed are %s, %s, %s", clip.Text(a.Type), AuthBearer, AuthAPIKey, AuthClientCredentials)}
}

// checkKey checks the fields of an API key.
func (a *Auth) checkKey() diag.List {
	list := checkSecret("key", a.Key)
	if a.In != "" && a.In != InHeader && a.In != InQuery && a.In != InCookie {
		list = append(list, diag.New(diag.InvalidEndpoint, "in", "in is %q; allowed are %s, %s, %s", clip.Text(a.In), InHeader, InQuery, InCookie))
	}
	if strings.ContainsFunc(a.Name, func(r rune) bool { return !isVisible(r) || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
		list = append(list, diag.New(diag.InvalidEndpoint, "name", "%q is not a valid name for a header, parameter or cookie", clip.Text(a.Name)))
	}
	return list
}

// checkClient checks the fields of an authorization server's client.
func (a *Auth) checkClient() diag.List {
	list := check.PeerURL("token_url", a.TokenURL)
	if a.ClientID == "" {
		list = append(list, diag.New(diag.InvalidEndpoint, "client_id", "client_id is empty"))
	}
	return append(list, checkSecret("client_secret", a.ClientSecret)...)
}

// checkForeign reports the set fields that belong to another type.
func (a *Auth) checkForeign(own ...string) diag.List {
	var list diag.List
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"token", a.Token != ""},
		{"key", a.Key != ""}, {"in", a.In != ""}, {"name", a.Name != ""},
		{"token_url", a.TokenURL != ""}, {"client_id", a.ClientID != ""}, {"client_secret", a.ClientSecret != ""}, {"scopes", len(a.Scopes) > 0},
	} {
		if f.set && !slices.Contains(own, f.path) {
			list = append(list, diag.New(diag.InvalidEndpoint, f.path, "%s does not belong to auth type %s", f.path, a.Type))
		}
	}
	return list
}

// checkSecret checks a value that requests carry. Messages do not repeat it.
func checkSecret(path, value string) diag.List {
	switch {
	case value == "":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s is empty", path)}
	case value == redact.Placeholder:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s is the placeholder for a hidden value", path)}
	case strings.ContainsFunc(value, func(r rune) bool { return !isVisible(r) }):
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s has a space or another character that a request cannot carry", path)}
	}
	return nil
}

// isVisible reports whether a rune is a printable ASCII character other than the
// space.
func isVisible(r rune) bool { return r > ' ' && r < 0x7f }
