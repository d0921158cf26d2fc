package spec

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

const (
	// DefaultBackend is the kind of backend an endpoint means when it names
	// none.
	DefaultBackend = "a2a"
	// DefaultEndpointTimeout is how long a remote turn may take.
	DefaultEndpointTimeout = 300 * time.Second
)

// Endpoint says where an agent runs that is not local.
type Endpoint struct {
	Backend string                     `json:"backend,omitempty" default:"a2a" doc:"The kind of backend that reaches the agent."`
	BaseURL string                     `json:"base_url" required:"true" doc:"Where the peer is: an http or https URL."`
	Auth    *Auth                      `json:"auth,omitempty" doc:"How the runtime identifies itself to the peer."`
	Target  string                     `json:"target,omitempty" doc:"The agent's id at the peer."`
	Timeout *Duration                  `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"300s" doc:"How long a turn at the peer may take."`
	Options map[string]json.RawMessage `json:"options,omitempty" doc:"Settings of the backend."`
}

// Auth is how the runtime shows a peer who it is. It has the fields of its type,
// and no others.
type Auth struct {
	Type         string   `json:"type" required:"true" enum:"bearer|api_key|oauth_client_credentials" doc:"How: with a fixed token, a key in a place of the request, or tokens that an authorization server gives for a client's id and secret."`
	Token        string   `json:"token,omitempty" secret:"true" of:"bearer" doc:"The bearer token. Required."`
	Key          string   `json:"key,omitempty" secret:"true" of:"api_key" doc:"The key. Required."`
	In           string   `json:"in,omitempty" enum:"header|query|cookie" default:"header" of:"api_key" doc:"The part of the request that carries the key."`
	Name         string   `json:"name,omitempty" default:"X-API-Key" of:"api_key" doc:"The name of the header, query parameter or cookie."`
	TokenURL     string   `json:"token_url,omitempty" of:"oauth_client_credentials" doc:"Where the authorization server gives tokens: an http or https URL. Required."`
	ClientID     string   `json:"client_id,omitempty" of:"oauth_client_credentials" doc:"The client's id. Required."`
	ClientSecret string   `json:"client_secret,omitempty" secret:"true" of:"oauth_client_credentials" doc:"The client's secret. Required."`
	Scopes       []string `json:"scopes,omitempty" of:"oauth_client_credentials" doc:"What the tokens are to permit."`
}

// The types of Auth, the parts of a request that carry a key, and the name that
// the key has there unless Auth says otherwise.
const (
	AuthBearer            = "bearer"
	AuthAPIKey            = "api_key"
	AuthClientCredentials = "oauth_client_credentials"

	InHeader = "header"
	InQuery  = "query"
	InCookie = "cookie"

	DefaultKeyName = "X-API-Key"
)

// redacted is what stands for a secret wherever a record is shown; given back
// as a token it is a mistake.
const redacted = "***"

// MarshalJSON writes the credential without its secrets.
func (a Auth) MarshalJSON() ([]byte, error) {
	type plain Auth
	for _, secret := range []*string{&a.Token, &a.Key, &a.ClientSecret} {
		if *secret != "" {
			*secret = redacted
		}
	}
	return json.Marshal(plain(a))
}

// Secrets returns what must not be shown of the credential.
func (a *Auth) Secrets() []string {
	return slices.DeleteFunc([]string{a.Token, a.Key, a.ClientSecret}, func(s string) bool { return s == "" })
}

func (a *Auth) clone() *Auth {
	c := copied(a)
	if c != nil {
		c.Scopes = slices.Clone(a.Scopes)
	}
	return c
}

// Kind returns the kind of backend that reaches the endpoint.
func (e *Endpoint) Kind() string {
	if e.Backend == "" {
		return DefaultBackend
	}
	return e.Backend
}

// Limit returns how long a turn at the endpoint may take.
func (e *Endpoint) Limit() time.Duration {
	if e.Timeout == nil {
		return DefaultEndpointTimeout
	}
	return e.Timeout.Std()
}

func (e *Endpoint) clone() *Endpoint {
	c := copied(e)
	if c != nil {
		c.Auth = e.Auth.clone()
		c.Timeout = copied(e.Timeout)
		c.Options = maps.Clone(e.Options)
	}
	return c
}

// Validate checks the record by itself. Paths are relative to the endpoint.
func (e *Endpoint) Validate() diag.List {
	list := checkURL("base_url", e.BaseURL)
	if e.Auth != nil {
		list = append(list, within("auth", e.Auth.Validate())...)
	}
	if e.Timeout != nil && *e.Timeout <= 0 {
		list = append(list, diag.New(diag.InvalidEndpoint, "timeout", "timeout is %s; it must be more than 0", e.Timeout))
	}
	return list
}

// Validate checks the record by itself. Paths are relative to the credential.
func (a *Auth) Validate() diag.List {
	var list diag.List
	bad := func(path, format string, args ...any) {
		list = append(list, diag.New(diag.InvalidEndpoint, path, format, args...))
	}
	secret := func(path, value string) {
		switch value {
		case "":
			bad(path, "%s is empty", path)
		case redacted:
			bad(path, "%s is the placeholder that stands for a hidden one", path)
		}
	}
	allowed := map[string]bool{}
	switch a.Type {
	case AuthBearer:
		allowed["token"] = true
		secret("token", a.Token)
	case AuthAPIKey:
		allowed["key"], allowed["in"], allowed["name"] = true, true, true
		secret("key", a.Key)
		if a.In != "" && a.In != InHeader && a.In != InQuery && a.In != InCookie {
			bad("in", "in is %q; allowed are header, query, cookie", clip.Text(a.In))
		}
		if strings.ContainsFunc(a.Name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
			bad("name", "name %q cannot be that of a header, parameter or cookie", clip.Text(a.Name))
		}
	case AuthClientCredentials:
		allowed["token_url"], allowed["client_id"], allowed["client_secret"], allowed["scopes"] = true, true, true, true
		list = append(list, checkURL("token_url", a.TokenURL)...)
		if a.ClientID == "" {
			bad("client_id", "client_id is empty")
		}
		secret("client_secret", a.ClientSecret)
	default:
		bad("type", "auth type %q is not supported; allowed are bearer, api_key, oauth_client_credentials", clip.Text(a.Type))
		return list
	}
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"token", a.Token != ""},
		{"key", a.Key != ""}, {"in", a.In != ""}, {"name", a.Name != ""},
		{"token_url", a.TokenURL != ""}, {"client_id", a.ClientID != ""}, {"client_secret", a.ClientSecret != ""}, {"scopes", len(a.Scopes) > 0},
	} {
		if f.set && !allowed[f.path] {
			bad(f.path, "%s does not belong to auth type %s", f.path, a.Type)
		}
	}
	return list
}

// checkURL checks a URL of a peer: http or https, with a host, without
// credentials, query and fragment. The URL itself is not repeated in messages,
// because it may contain a secret.
func checkURL(path, raw string) diag.List {
	if raw == "" {
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s is missing", path)}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s does not parse as a URL", path)}
	case u.Scheme != "http" && u.Scheme != "https":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must start with http:// or https://", path)}
	case u.Hostname() == "":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s names no host", path)}
	case u.User != nil:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must not contain a user or password", path).WithHint("use auth")}
	case u.RawQuery != "" || u.ForceQuery:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must not have a query", path)}
	case u.Fragment != "":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "%s must not have a fragment", path)}
	}
	return nil
}

// RemoteSource is a peer whose agents are discovered and appear as
// "<name>/<agent>".
type RemoteSource struct {
	Name    string                     `json:"name" required:"true" doc:"The prefix of the discovered agents' ids."`
	BaseURL string                     `json:"base_url" required:"true" doc:"Where the peer is: an http or https URL."`
	Backend string                     `json:"backend,omitempty" default:"a2a" doc:"The kind of backend that discovers and reaches the agents."`
	Auth    *Auth                      `json:"auth,omitempty" doc:"How the runtime identifies itself to the peer."`
	Timeout *Duration                  `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"300s" doc:"How long a turn at the peer may take."`
	Options map[string]json.RawMessage `json:"options,omitempty" doc:"Settings of the backend, for the discovery and for the agents that it finds."`
}

// Kind returns the kind of backend that discovers the source.
func (s *RemoteSource) Kind() string {
	if s.Backend == "" {
		return DefaultBackend
	}
	return s.Backend
}

// Validate checks the record by itself. Paths are relative to the source.
func (s *RemoteSource) Validate() diag.List {
	list := CheckID("name", "remote source", s.Name)
	if s.Name == LocalSource {
		list = append(list, diag.New(diag.InvalidID, "name", "%q is the name of the runtime's own agents", s.Name))
	}
	list = append(list, checkURL("base_url", s.BaseURL)...)
	if s.Auth != nil {
		list = append(list, within("auth", s.Auth.Validate())...)
	}
	if s.Timeout != nil && *s.Timeout <= 0 {
		list = append(list, diag.New(diag.InvalidEndpoint, "timeout", "timeout is %s; it must be more than 0", s.Timeout))
	}
	return list
}

// Endpoint returns how the peer itself is reached, as the endpoint of an agent
// that runs there.
func (s *RemoteSource) Endpoint() *Endpoint {
	e := &Endpoint{Backend: s.Backend, BaseURL: s.BaseURL, Auth: s.Auth, Timeout: s.Timeout, Options: s.Options}
	return e.clone()
}

// LocalSource is the source name of declared agents: "local/x" is agent x.
const LocalSource = "local"
