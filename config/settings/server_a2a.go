package settings

import (
	"net"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// DefaultMaxWait is how long a request waits for a task to end.
const DefaultMaxWait = time.Minute

// ServerA2A configures access to the server's agents over A2A.
type ServerA2A struct {
	Enabled          *bool          `json:"enabled,omitempty" default:"true" doc:"Whether the agents are served over A2A, each at its own path."`
	V03              bool           `json:"v0_3,omitempty" default:"false" doc:"Whether clients of version 0.3 are also served, at separate paths."`
	DefaultAgent     string         `json:"default_agent,omitempty" doc:"The agent whose card is at the server's well-known path. Defaults to the only agent."`
	UniqueMessageIDs bool           `json:"unique_message_ids,omitempty" default:"false" doc:"Whether a message that reuses an id of the same caller with different content is rejected. Otherwise it is a new message. Repeating a message always returns the same task."`
	GRPCListen       string         `json:"grpc_listen,omitempty" doc:"The listen address for A2A over gRPC, as host:port. Empty disables it."`
	GRPCAddress      string         `json:"grpc_address,omitempty" doc:"The public gRPC address on cards, as host:port. Defaults to the host of public_url with the port of grpc_listen."`
	Organization     string         `json:"organization,omitempty" doc:"The agents' provider on cards. Set together with organization_url."`
	OrganizationURL  string         `json:"organization_url,omitempty" doc:"The organization's URL: http or https, without secrets because it is public."`
	MaxWait          *spec.Duration `json:"max_wait,omitempty" default:"60s" doc:"Maximum time that a request waits for a task to end. Then it returns the task as it is."`
	SigningKeyFile   string         `json:"signing_key_file,omitempty" path:"true" doc:"The PEM private key that signs the cards: ECDSA on P-256 or Ed25519. If empty, cards are not signed."`
	Push             ServerA2APush  `json:"push,omitzero" doc:"Push notifications about a task, to a URL set by its caller."`
}

// ServerA2APush limits the destinations of notifications.
type ServerA2APush struct {
	Enabled      *bool    `json:"enabled,omitempty" default:"true" doc:"Whether callers may request notifications."`
	AllowPrivate []string `json:"allow_private,omitempty" doc:"Hosts on private networks that may receive notifications: names, addresses or prefixes such as 10.0.0.0/8. All others must be public and use https."`
}

// On reports whether the agents can be reached by the protocol.
func (a *ServerA2A) On() bool { return orDefault(a.Enabled, true) }

// WaitTime returns how long a request waits for a task to end.
func (a *ServerA2A) WaitTime() time.Duration {
	return orDefault(a.MaxWait, spec.Duration(DefaultMaxWait)).Std()
}

// On reports whether callers may request notifications.
func (p *ServerA2APush) On() bool { return orDefault(p.Enabled, true) }

// Validate checks the record by itself. Paths are relative to it. The server checks the listen
// address, because it knows whether there are keys.
func (a *ServerA2A) Validate() diag.List {
	list := check.PositiveSpan("max_wait", a.MaxWait)
	list = append(list, a.checkCards()...)
	return append(list, check.Hosts("push.allow_private", a.Push.AllowPrivate)...)
}

// checkCards checks the settings for cards.
func (a *ServerA2A) checkCards() diag.List {
	var list diag.List
	if a.GRPCAddress != "" {
		host, port, err := net.SplitHostPort(a.GRPCAddress)
		n, wrong := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || wrong != nil || n == 0 {
			list = append(list, diag.New(diag.InvalidValue, "grpc_address", "grpc_address must be host:port, as in agents.example.com:443"))
		} else if a.GRPCListen == "" {
			list = append(list, diag.New(diag.InvalidValue, "grpc_address", "grpc_address is set, but grpc_listen is not: gRPC is not served"))
		}
	}
	switch {
	case a.Organization == "" && a.OrganizationURL != "":
		list = append(list, diag.New(diag.MissingField, "organization", "organization is required with organization_url"))
	case a.Organization != "" && a.OrganizationURL == "":
		list = append(list, diag.New(diag.MissingField, "organization_url", "organization_url is required with organization"))
	}
	return append(list, check.PublicURL("organization_url", a.OrganizationURL)...)
}
