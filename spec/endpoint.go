package spec

import (
	"encoding/json"
	"maps"
	"net/url"
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

// Auth is a credential for a peer.
type Auth struct {
	Type  string `json:"type" required:"true" enum:"bearer" doc:"The scheme."`
	Token string `json:"token" required:"true" secret:"true" doc:"The bearer token."`
}

// redacted is what stands for a secret wherever a record is shown; given back
// as a token it is a mistake.
const redacted = "***"

// MarshalJSON writes the credential without its secret.
func (a Auth) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type  string `json:"type"`
		Token string `json:"token"`
	}{a.Type, redacted})
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
		c.Auth = copied(e.Auth)
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
	if a.Type != "bearer" {
		list = append(list, diag.New(diag.InvalidEndpoint, "type", "auth type %q is not supported; allowed is bearer", clip.Text(a.Type)))
	}
	switch a.Token {
	case "":
		list = append(list, diag.New(diag.InvalidEndpoint, "token", "the token is empty"))
	case redacted:
		list = append(list, diag.New(diag.InvalidEndpoint, "token", "the token is the placeholder that stands for a hidden one"))
	}
	return list
}

// checkURL checks the base URL of a peer: http or https, with a host, without
// credentials, query and fragment. The URL itself is not repeated in messages,
// because it may contain a secret.
func checkURL(path, raw string) diag.List {
	if raw == "" {
		return diag.List{diag.New(diag.InvalidEndpoint, path, "base_url is missing")}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "base_url does not parse as a URL")}
	case u.Scheme != "http" && u.Scheme != "https":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "base_url must start with http:// or https://")}
	case u.Hostname() == "":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "base_url names no host")}
	case u.User != nil:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "base_url must not contain a user or password").WithHint("use auth")}
	case u.RawQuery != "" || u.ForceQuery:
		return diag.List{diag.New(diag.InvalidEndpoint, path, "base_url must not have a query")}
	case u.Fragment != "":
		return diag.List{diag.New(diag.InvalidEndpoint, path, "base_url must not have a fragment")}
	}
	return nil
}

// RemoteSource is a peer whose agents are discovered and appear as
// "<name>/<agent>".
type RemoteSource struct {
	Name    string `json:"name" required:"true" doc:"The prefix of the discovered agents' ids."`
	BaseURL string `json:"base_url" required:"true" doc:"Where the peer is: an http or https URL."`
	Backend string `json:"backend,omitempty" default:"a2a" doc:"The kind of backend that discovers and reaches the agents."`
	Auth    *Auth  `json:"auth,omitempty" doc:"How the runtime identifies itself to the peer."`
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
	return list
}

// LocalSource is the source name of declared agents: "local/x" is agent x.
const LocalSource = "local"
