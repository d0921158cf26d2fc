// Package mcp is the tool kind mcp: one entry of a configuration gives the
// tools of a server that speaks the Model Context Protocol, a program that is
// started here or an address that is reached over HTTP.
//
// The configuration is trusted, the server is not. Its tools are known from a
// catalogue, a file beside the configuration, so that a dry run needs no
// server; they are connected to when one of them is called first. What the
// server says, in the catalogue, in results and in errors, is bounded and
// checked before anybody else sees it.
package mcp

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// defaultConnectTimeout is how long connecting may take when the configuration
// does not say.
const defaultConnectTimeout = 30 * time.Second

// Config is what a configuration file says of a server.
type Config struct {
	Command []string          `json:"command,omitempty" doc:"The server's program and its arguments; no shell is involved. It speaks the protocol on its standard input and output. Either this or url."`
	Dir     string            `json:"dir,omitempty" path:"true" doc:"The directory the program runs in; a relative path to the program starts there. Defaults to that of the runtime; in a session with a workspace the program runs there, as a process of its own."`
	Env     map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of the program. Of the runtime's own it gets PATH, HOME, TMPDIR and LANG alone."`

	URL     string            `json:"url,omitempty" variables:"tenant" doc:"Where the server is reached over streamable HTTP: an http or https URL. Redirects are not followed. ${tenant.NAME} may stand in its path and in the values of its query, in its host, and in place of its beginning. Either this or command."`
	Headers map[string]string `json:"headers,omitempty" secret:"true" variables:"tenant" doc:"Headers of every request to the url. ${tenant.NAME} may stand in the values."`
	Auth    *ServerAuth       `json:"auth,omitempty" doc:"How the runtime shows the server who it is. Not where a tenant decides the host."`

	AllowPrivate []string `json:"allow_private,omitempty" doc:"Hosts, IP addresses and CIDR blocks, each optionally with a port, that may be reached although they are not public, where ${tenant.NAME} decides the host. Any other url may be private anyway."`

	Filter *ToolFilter `json:"filter,omitempty" doc:"Which of the server's tools there are, by the names that the server gives them. All by default."`
	Prefix *string     `json:"prefix,omitempty" pattern:"^[A-Za-z0-9_-]{0,40}$" doc:"What the ids of the tools begin with. Defaults to mcp__, the id of the entry, and two more underscores."`

	Catalog        string         `json:"catalog,omitempty" path:"true" doc:"The file that keeps what tools the server has, so that it need not be asked at every start. Defaults to .runtime/mcp/<id>.json beside the configuration file."`
	ConnectTimeout *spec.Duration `json:"connect_timeout,omitempty" alias:"connect_timeout_ms:ms" default:"30s" doc:"How long it may take to reach the server and to learn its tools."`

	Timeout   *spec.Duration `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"60s" doc:"How long a call may take; then the server is told that it is canceled."`
	Effect    tools.Effect   `json:"effect,omitempty" enum:"read|idempotent|once" doc:"What repeating a call does, which decides whether it may happen again after a crash. By default each tool's own annotations decide; without annotations it is once."`
	MaxOutput int            `json:"max_output,omitempty" min:"256" max:"1048576" default:"262144" doc:"Bytes of text of a result that the model is given; what is longer is cut."`
	Serial    bool           `json:"serial,omitempty" doc:"Keeps calls from running beside others of the same answer."`
}

// The types of ServerAuth.
const (
	authBearer            = "bearer"
	authClientCredentials = "oauth_client_credentials"
)

// ServerAuth is how the runtime authenticates to a server.
type ServerAuth struct {
	Type         string   `json:"type" required:"true" enum:"bearer|oauth_client_credentials" doc:"How: with a fixed token, or with tokens that an authorization server gives for a client's id and secret."`
	Token        string   `json:"token,omitempty" secret:"true" of:"bearer" doc:"The token. Required."`
	TokenURL     string   `json:"token_url,omitempty" of:"oauth_client_credentials" doc:"Where the authorization server gives tokens: an http or https URL. Required."`
	ClientID     string   `json:"client_id,omitempty" of:"oauth_client_credentials" doc:"The client's id. Required."`
	ClientSecret string   `json:"client_secret,omitempty" secret:"true" of:"oauth_client_credentials" doc:"The client's secret. Required."`
	Scopes       []string `json:"scopes,omitempty" of:"oauth_client_credentials" doc:"What the tokens are to permit."`
}

// ToolFilter selects which of a server's tools are offered.
type ToolFilter struct {
	Allow []string `json:"allow,omitempty" doc:"Globs; a tool must match one of them. Absent allows every tool."`
	Deny  []string `json:"deny,omitempty" doc:"Globs; a tool must match none of them."`
}

// MarshalJSON writes the record without the values of headers and environment
// variables, and without the credentials of auth.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.Env, c.Headers = redact.Values(c.Env), redact.Values(c.Headers)
	if c.Auth != nil {
		shown := *c.Auth
		shown.Token, shown.ClientSecret = redact.Text(shown.Token), redact.Text(shown.ClientSecret)
		c.Auth = &shown
	}
	return json.Marshal(plain(c))
}

// Action names the server of a call.
func (c *Config) Action() string {
	if c.URL != "" {
		return "calls the MCP server at " + c.URL
	}
	return "calls the MCP server " + process.Line(c.Command)
}

// ToolPrefix returns what the ids of the tools of an entry begin with.
func (c *Config) ToolPrefix(id string) string {
	if c.Prefix != nil {
		return *c.Prefix
	}
	return "mcp__" + id + "__"
}

// catalogFile returns the file of the catalogue.
func (c *Config) catalogFile(s *tools.Settings) string {
	if c.Catalog != "" {
		return c.Catalog
	}
	return filepath.Join(s.Dir, ".runtime", "mcp", s.ID+".json")
}

// maxOutput returns how much text a result may have, in bytes.
func (c *Config) maxOutput() int { return tools.OutputLimit(c.MaxOutput) }

func (c *Config) callTimeout() time.Duration { return tools.CallTimeout(c.Timeout) }

func (c *Config) connectTimeout() time.Duration {
	if c.ConnectTimeout == nil {
		return defaultConnectTimeout
	}
	return c.ConnectTimeout.Std()
}
