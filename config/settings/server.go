package settings

import (
	"cmp"
	"encoding/base64"
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

// ServesOpenAI reports whether the server serves clients of the OpenAI API.
func (s *Server) ServesOpenAI() bool { return orDefault(s.OpenAI, true) }

// ServesAGUI reports whether the server serves AG-UI clients.
func (s *Server) ServesAGUI() bool { return orDefault(s.AGUI, true) }

// ServesAISDK reports whether the server serves AI SDK chats.
func (s *Server) ServesAISDK() bool { return orDefault(s.AISDK, true) }

// ServesMCP reports whether MCP clients can use the agents.
func (s *Server) ServesMCP() bool { return orDefault(s.MCP, true) }

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
