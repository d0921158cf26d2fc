package settings

import (
	"cmp"
	"encoding/base64"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/spec"
)

const (
	// DefaultListen is the default listen address of a server.
	DefaultListen = "127.0.0.1:8080"
	// ListenNone as the address disables HTTP.
	ListenNone = "none"
)

// The protocols of a server, each by the name of its section below server.
const (
	SurfaceA2A       = "a2a"
	SurfaceAgentRuns = "agent_runs"
	SurfaceNative    = "native"
	SurfaceSessions  = "sessions"
	SurfaceAgents    = "agents"
	SurfaceAdmin     = "admin"
	SurfaceWorkflows = "workflows"
	SurfaceOpenAI    = "openai"
	SurfaceAGUI      = "agui"
	SurfaceAISDK     = "aisdk"
	SurfaceConsole   = "console"
	SurfaceMCP       = "mcp"
)

// encryptionKeyBytes is the length of an encryption key.
const encryptionKeyBytes = 32

// Server configures how a process answers HTTP requests. Absent fields have the
// defaults named in their descriptions.
type Server struct {
	Listen               string          `json:"listen,omitempty" default:"127.0.0.1:8080" doc:"The address to listen on, as host:port. An empty host means every address of the machine, port 0 a free port. none disables HTTP."`
	PublicURL            string          `json:"public_url,omitempty" doc:"The server's public URL: http or https, with any path added by a proxy in front of it. Defaults to the address it listens on."`
	TLS                  *ServerTLS      `json:"tls,omitempty" doc:"The server's certificate. If absent, the server uses plain HTTP, for a proxy in front of it."`
	Keys                 []ServerKey     `json:"keys,omitempty" doc:"The accepted API keys, as bearer token or in the header X-API-Key. If empty, the server listens on loopback only, and every caller is the subject local of the tenant local."`
	OAuth                *ServerOAuth    `json:"oauth,omitempty" doc:"Clients that exchange a secret for access tokens at this server."`
	JWT                  *ServerJWT      `json:"jwt,omitempty" doc:"Accepted access tokens of an external issuer: signed JSON Web Tokens."`
	AllowUnauthenticated bool            `json:"allow_unauthenticated,omitempty" default:"false" doc:"Permits listening beyond loopback without keys. Anyone who can reach the server can then use every agent and read everything."`
	CORSOrigins          []string        `json:"cors_origins,omitempty" doc:"Origins whose pages may use the server, such as https://console.example.com; * is all and requires keys. Defaults to none."`
	Limits               ServerLimits    `json:"limits,omitzero" doc:"The limits of one request."`
	Rate                 ServerRate      `json:"rate,omitzero" doc:"The request rate of one key. Requests above it get status 429."`
	EncryptionKey        string          `json:"encryption_key,omitempty" secret:"true" doc:"32 random bytes in base64. Encrypts stored tenant secrets and callers' credentials for notifications and run tools. All processes sharing the store need the same key. If empty, credentials are stored unencrypted and tenants cannot set secrets."`
	A2A                  ServerA2A       `json:"a2a,omitzero" doc:"Serves the agents to peers over A2A."`
	AgentRuns            ServerAgentRuns `json:"agent_runs,omitzero" doc:"Agent runs over HTTP, followed as events, whose clients may run tools."`
	Sessions             ServerSessions  `json:"sessions,omitzero" doc:"Sessions and turns for Gestalt clients."`
	Agents               ServerAgents    `json:"agents,omitzero" doc:"Declared agents for clients of the agents API, such as genkit/beta/client."`
	Native               ServerNative    `json:"native,omitzero" doc:"The runtime's own protocol: sessions, turns and events as stored, for commands with --server."`
	Admin                ServerAdmin     `json:"admin,omitzero" doc:"The configuration over HTTP: agents, models, tools and revisions, for credentials with the scopes config:read and config:write."`
	Workflows            ServerWorkflows `json:"workflows,omitzero" doc:"Schedules, events and runs of workflows."`
	OpenAI               *bool           `json:"openai,omitempty" default:"true" doc:"Whether clients of the OpenAI API can use the agents as models, at /v1."`
	AGUI                 *bool           `json:"agui,omitempty" default:"true" doc:"Whether clients of AG-UI can run the agents, at /agui."`
	AISDK                *bool           `json:"aisdk,omitempty" default:"true" doc:"Whether chats of the AI SDK can use the agents, at /aisdk."`
	MCP                  *bool           `json:"mcp,omitempty" default:"true" doc:"Whether MCP clients can call the agents as tools, at /mcp and /mcp/AGENT."`
	MCPPrompts           []MCPPrompt     `json:"mcp_prompts,omitempty" doc:"The prompts that MCP clients offer to their users."`
	MCPResources         []MCPResource   `json:"mcp_resources,omitempty" doc:"The texts that MCP clients can read."`
	Console              *bool           `json:"console,omitempty" doc:"Whether the web console is served at /console. Defaults to true if no credentials are configured and the server listens on loopback only; callers can then also read the configuration."`
}

// ServerTLS is the certificate of a server.
type ServerTLS struct {
	CertFile string `json:"cert_file" required:"true" path:"read" doc:"The certificate and its intermediates, as PEM."`
	KeyFile  string `json:"key_file" required:"true" path:"read" doc:"Its private key, as PEM."`
}

// Defaults of ServerLimits: sizes in bytes.
const (
	DefaultMaxBodyBytes      = 16 << 20
	DefaultMaxHeaderBytes    = 64 << 10
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultReadTimeout       = time.Minute
	DefaultWriteTimeout      = 30 * time.Second
	DefaultIdleTimeout       = 2 * time.Minute
)

// ServerLimits limit the cost of one request.
type ServerLimits struct {
	MaxBodyBytes      *int           `json:"max_body_bytes,omitempty" min:"1" default:"16777216" doc:"Maximum size of a request body, in bytes."`
	MaxHeaderBytes    *int           `json:"max_header_bytes,omitempty" min:"1024" default:"65536" doc:"Maximum size of a request header, in bytes."`
	ReadHeaderTimeout *spec.Duration `json:"read_header_timeout,omitempty" default:"10s" doc:"Maximum time for a client to send its header."`
	ReadTimeout       *spec.Duration `json:"read_timeout,omitempty" default:"60s" doc:"Maximum time for a client to send its body."`
	WriteTimeout      *spec.Duration `json:"write_timeout,omitempty" default:"30s" doc:"Maximum time for a client to read one piece of a response. A whole response has no limit."`
	IdleTimeout       *spec.Duration `json:"idle_timeout,omitempty" default:"120s" doc:"Maximum idle time of a connection between requests."`
}

// ServerRate limits the requests of one key.
type ServerRate struct {
	PerSecond   float64 `json:"per_second,omitempty" min:"0" default:"0" doc:"Sustained requests per second. 0 means no limit."`
	Burst       int     `json:"burst,omitempty" min:"0" doc:"Maximum burst of requests. Defaults to per_second, at least 1."`
	Concurrency int     `json:"concurrency,omitempty" min:"0" default:"0" doc:"Maximum number of concurrent requests, including streams. 0 means no limit."`
}

// ServesOpenAI reports whether the server serves clients of the OpenAI API.
func (s *Server) ServesOpenAI() bool { return orDefault(s.OpenAI, true) }

// ServesAGUI reports whether the server serves AG-UI clients.
func (s *Server) ServesAGUI() bool { return orDefault(s.AGUI, true) }

// ServesAISDK reports whether the server serves AI SDK chats.
func (s *Server) ServesAISDK() bool { return orDefault(s.AISDK, true) }

// ServesConsole reports whether the web console is served.
func (s *Server) ServesConsole() bool { return orDefault(s.Console, s.Local()) }

// Local reports whether the server needs no credentials because only programs on its own
// machine reach it.
func (s *Server) Local() bool { return !s.Authenticated() && !s.AllowUnauthenticated }

// Address returns the listen address of the server.
func (s *Server) Address() string { return cmp.Or(s.Listen, DefaultListen) }

// Authenticated reports whether callers need a credential.
func (s *Server) Authenticated() bool { return len(s.Keys) > 0 || s.OAuth != nil || s.JWT != nil }

// EncryptionBytes returns the encryption key, or nil.
func (s *Server) EncryptionBytes() []byte {
	key, err := base64.StdEncoding.DecodeString(s.EncryptionKey)
	if err != nil || len(key) != encryptionKeyBytes {
		return nil
	}
	return key
}

// BodyLimit returns the size limit of a request body, in bytes.
func (l *ServerLimits) BodyLimit() int { return orDefault(l.MaxBodyBytes, DefaultMaxBodyBytes) }

// HeaderLimit returns the size limit of a request header, in bytes.
func (l *ServerLimits) HeaderLimit() int { return orDefault(l.MaxHeaderBytes, DefaultMaxHeaderBytes) }

// HeaderTime returns how long a client may take to send its header.
func (l *ServerLimits) HeaderTime() time.Duration {
	return orDefault(l.ReadHeaderTimeout, spec.Duration(DefaultReadHeaderTimeout)).Std()
}

// BodyTime returns how long a client may take to send its body.
func (l *ServerLimits) BodyTime() time.Duration {
	return orDefault(l.ReadTimeout, spec.Duration(DefaultReadTimeout)).Std()
}

// WriteTime returns how long a client may take to read one piece of a response.
func (l *ServerLimits) WriteTime() time.Duration {
	return orDefault(l.WriteTimeout, spec.Duration(DefaultWriteTimeout)).Std()
}

// IdleTime returns how long a connection may be idle between requests.
func (l *ServerLimits) IdleTime() time.Duration {
	return orDefault(l.IdleTimeout, spec.Duration(DefaultIdleTimeout)).Std()
}

func orDefault[T any](v *T, byDefault T) T {
	if v == nil {
		return byDefault
	}
	return *v
}

// Validate checks the record by itself. Secrets are not repeated in messages.
func (s *Server) Validate() diag.List {
	var list diag.List
	if s.Address() != ListenNone {
		list = append(list, s.checkListen("listen", s.Address())...)
	}
	if s.A2A.GRPCListen != "" {
		list = append(list, check.Within("a2a", s.checkListen("grpc_listen", s.A2A.GRPCListen))...)
	}
	if s.PublicURL != "" {
		list = append(list, checkPublicURL(s.PublicURL)...)
	} else if s.Address() != ListenNone && !list.HasErrors() && !loopbackOnly(s.Address()) {
		missing := diag.New(diag.MissingField, "public_url", "without public_url, agent cards name the listen address, which others may not reach")
		missing.Severity = diag.Warning
		list = append(list, missing.WithHint("write public_url: https://agents.example.com"))
	}
	if s.AllowUnauthenticated && s.Authenticated() {
		list = append(list, diag.New(diag.InvalidValue, "allow_unauthenticated", "allow_unauthenticated is set, but there are keys"))
	}
	list = append(list, s.checkKeys()...)
	list = append(list, s.checkOAuth()...)
	if s.JWT != nil {
		list = append(list, check.Within("jwt", s.JWT.Validate())...)
	}
	list = append(list, s.checkOrigins()...)
	if s.EncryptionKey != "" && s.EncryptionBytes() == nil {
		list = append(list, diag.New(diag.InvalidValue, "encryption_key", "encryption_key is not the base64 of %d bytes", encryptionKeyBytes).
			WithHint("openssl rand -base64 %d", encryptionKeyBytes))
	}
	list = append(list, check.Within("limits", s.Limits.Validate())...)
	list = append(list, check.Within("rate", s.Rate.Validate())...)
	list = append(list, check.Within("a2a", s.A2A.Validate())...)
	list = append(list, s.checkMCP()...)
	list = append(list, check.Within("agents", s.Agents.Validate())...)
	list = append(list, check.Within("agent_runs", s.AgentRuns.Validate())...)
	list = append(list, check.Within("sessions", s.Sessions.Validate())...)
	return append(list, s.warnNoEffect()...)
}

// checkListen checks an address and who can reach it.
func (s *Server) checkListen(path, address string) diag.List {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return diag.List{diag.New(diag.InvalidValue, path, "%s is %q; it must be host:port", path, clip.Text(address)).
			WithHint("such as %s, or :8080 for every address of the machine", DefaultListen)}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return diag.List{diag.New(diag.InvalidValue, path, "%s has the port %q; it must be a number from 0 to 65535", path, clip.Text(port))}
	}
	if strings.ContainsAny(host, " /") {
		return diag.List{diag.New(diag.InvalidValue, path, "%s has the host %q; it must be a name or an IP address", path, clip.Text(host))}
	}
	if !s.Authenticated() && !s.AllowUnauthenticated && !loopbackOnly(address) {
		return diag.List{diag.New(diag.InvalidValue, path, "%s is reachable from other machines without a key: anybody could use every agent", path).
			WithHint("make a key with \"runtime keys new\", listen on 127.0.0.1, or write allow_unauthenticated: true")}
	}
	return nil
}

// loopbackOnly reports whether an address is reachable only from the machine itself.
func loopbackOnly(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	return hostlist.IsLoopback(host)
}

// checkPublicURL checks the public URL of the server.
func checkPublicURL(raw string) diag.List {
	list := check.PeerURL("public_url", raw)
	for i := range list {
		list[i].Code, list[i].Hint = diag.InvalidValue, "such as https://agents.example.com"
	}
	return list
}

// checkOrigins checks the sites whose pages may use the server.
func (s *Server) checkOrigins() diag.List {
	var list diag.List
	for i, origin := range s.CORSOrigins {
		path := diag.Index("cors_origins", i)
		if origin == "*" {
			if !s.Authenticated() {
				list = append(list, diag.New(diag.InvalidValue, path, "every site is allowed and no key is required: any page could use every agent"))
			}
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			list = append(list, diag.New(diag.InvalidValue, path, "%q is not a valid origin", clip.Text(origin)).
				WithHint("a scheme, a host and a port, such as https://console.example.com"))
		}
	}
	return list
}

// Validate checks the record by itself. Paths are relative to the limits.
func (l *ServerLimits) Validate() diag.List {
	list := check.Positive("max_body_bytes", l.MaxBodyBytes)
	list = append(list, check.Positive("max_header_bytes", l.MaxHeaderBytes)...)
	list = append(list, check.PositiveSpan("read_header_timeout", l.ReadHeaderTimeout)...)
	list = append(list, check.PositiveSpan("read_timeout", l.ReadTimeout)...)
	list = append(list, check.PositiveSpan("write_timeout", l.WriteTimeout)...)
	return append(list, check.PositiveSpan("idle_timeout", l.IdleTimeout)...)
}

// Validate checks the record by itself. Paths are relative to the rate.
func (r *ServerRate) Validate() diag.List {
	var list diag.List
	if r.PerSecond < 0 {
		list = append(list, diag.New(diag.InvalidValue, "per_second", "per_second is %v; it must be 0 or more", r.PerSecond))
	}
	list = append(list, check.NotNegative("burst", &r.Burst)...)
	if r.Burst > 0 && r.PerSecond == 0 {
		list = append(list, diag.New(diag.InvalidValue, "burst", "burst belongs to per_second, which is 0"))
	}
	return append(list, check.NotNegative("concurrency", &r.Concurrency)...)
}
