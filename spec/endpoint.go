package spec

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

const (
	// defaultBackend is the backend kind of an endpoint that names none.
	defaultBackend = "a2a"
	// HostedBackend is the backend kind of agents that run at a provider hosted by the runtime.
	HostedBackend = "provider"
	// HostedModel is the option that names a hosted agent's model.
	HostedModel = "model"
	// defaultEndpointTimeout is how long a remote turn may take.
	defaultEndpointTimeout = 300 * time.Second
)

// Endpoint is the address of an agent that is not local.
type Endpoint struct {
	Backend string                     `json:"backend,omitempty" default:"a2a" doc:"The kind of backend that reaches the agent: a2a for a peer, provider for an agent provider."`
	BaseURL string                     `json:"base_url,omitempty" required:"backend!=provider" doc:"The peer's http or https URL."`
	Auth    *Auth                      `json:"auth,omitempty" doc:"How the runtime authenticates to the peer."`
	Target  string                     `json:"target,omitempty" required:"backend=provider" doc:"The agent's id at the peer; with backend provider, the id of an entry under agent_providers."`
	Timeout *Duration                  `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"300s" doc:"Time limit for a turn at the peer."`
	Options map[string]json.RawMessage `json:"options,omitempty" doc:"Settings of the backend."`
}

// Kind returns the kind of backend that reaches the endpoint.
func (e *Endpoint) Kind() string { return cmp.Or(e.Backend, defaultBackend) }

// Limit returns how long a turn at the endpoint may take.
func (e *Endpoint) Limit() time.Duration {
	return orDefault(e.Timeout, Duration(defaultEndpointTimeout)).Std()
}

// Validate checks the record by itself. Paths are relative to the endpoint.
func (e *Endpoint) Validate() diag.List {
	if e.Backend == HostedBackend {
		return e.validateHosted()
	}
	return checkPeer(e.BaseURL, e.Auth, e.Timeout)
}

// validateHosted checks the endpoint of an agent at a hosted provider.
func (e *Endpoint) validateHosted() diag.List {
	list := checkTimeout(e.Timeout)
	if e.Target == "" {
		list = append(list, diag.New(diag.MissingField, "target", "target is required").
			WithHint("name an entry of agent_providers"))
	}
	if e.BaseURL != "" {
		list = append(list, diag.New(diag.InvalidEndpoint, "base_url", "an agent at a provider has no base_url").
			WithHint("the entry under agent_providers says where the provider is"))
	}
	if e.Auth != nil {
		list = append(list, diag.New(diag.InvalidEndpoint, "auth", "an agent at a provider has no auth"))
	}
	return list
}

// checkPeer checks the fields that an endpoint and a source share.
func checkPeer(baseURL string, auth *Auth, timeout *Duration) diag.List {
	list := append(check.PeerURL("base_url", baseURL), checkPart("auth", auth)...)
	return append(list, checkTimeout(timeout)...)
}

// checkTimeout checks how long a turn may take.
func checkTimeout(timeout *Duration) diag.List {
	if timeout != nil && *timeout <= 0 {
		return diag.List{diag.New(diag.InvalidEndpoint, "timeout", "timeout is %s; it must be more than 0", timeout)}
	}
	return nil
}

// RemoteSource is a peer whose agents are discovered and appear as
// "<name>/<agent>".
type RemoteSource struct {
	Name    string                     `json:"name" required:"true" doc:"The prefix of the discovered agents' ids."`
	BaseURL string                     `json:"base_url" required:"true" doc:"The peer's http or https URL."`
	Backend string                     `json:"backend,omitempty" default:"a2a" doc:"The kind of backend that discovers and reaches the agents."`
	Auth    *Auth                      `json:"auth,omitempty" doc:"How the runtime authenticates to the peer."`
	Timeout *Duration                  `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"300s" doc:"Time limit for a turn at the peer."`
	Options map[string]json.RawMessage `json:"options,omitempty" doc:"Settings of the backend, for discovery and the agents it finds."`
}

// Kind returns the kind of backend that discovers the source.
func (s *RemoteSource) Kind() string { return cmp.Or(s.Backend, defaultBackend) }

// Validate checks the record by itself. Paths are relative to the source.
func (s *RemoteSource) Validate() diag.List {
	list := CheckID("name", "remote source", s.Name)
	if s.Name == LocalSource {
		list = append(list, diag.New(diag.InvalidID, "name", "%q is the name of the runtime's own agents", s.Name))
	}
	return append(list, checkPeer(s.BaseURL, s.Auth, s.Timeout)...)
}

// Endpoint returns the peer itself as the endpoint of an agent that runs there.
func (s *RemoteSource) Endpoint() *Endpoint {
	return clone(&Endpoint{Backend: s.Backend, BaseURL: s.BaseURL, Auth: s.Auth, Timeout: s.Timeout, Options: s.Options})
}

// LocalSource is the source name of declared agents: "local/x" is agent x.
const LocalSource = "local"
