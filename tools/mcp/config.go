// Package mcp is the tool kind mcp: one entry of a configuration provides the tools of a server
// that speaks the Model Context Protocol, either a program started here or an address reached over
// HTTP.
//
// The configuration is trusted, the server is not. The tools come from a catalog, a file beside
// the configuration, so that a dry run needs no server; the first call connects to it. The server's
// output, in the catalog, results and errors, is bounded and checked before use.
package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// defaultConnectTimeout is the default time limit for connecting.
const defaultConnectTimeout = 30 * time.Second

// config is the configuration of a server.
type config struct {
	Command []string          `json:"command,omitempty" doc:"The server's program and its arguments; no shell is involved. It serves the protocol on standard input and output. Set either this or url."`
	Dir     string            `json:"dir,omitempty" path:"dir" doc:"The program's working directory, which also resolves a relative program path. Defaults to the runtime's directory; in a session with a workspace, the program runs there as a separate process."`
	Env     map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of the program. It inherits only PATH, HOME, TMPDIR and LANG."`

	URL     string            `json:"url,omitempty" variables:"tenant" doc:"The http or https URL of a server with streamable HTTP. Redirects are not followed. ${tenant.NAME} may be used in its path, the values of its query and its host, or as its beginning. Either this or command."`
	Headers map[string]string `json:"headers,omitempty" secret:"true" variables:"tenant" doc:"Headers of every request to url. ${tenant.NAME} may be used in the values."`
	Auth    *serverAuth       `json:"auth,omitempty" doc:"How the runtime authenticates to the server. Invalid if a tenant sets the host."`

	AllowPrivate []string `json:"allow_private,omitempty" doc:"Non-public hosts, IP addresses and CIDR blocks, each optionally with a port, that may be reached if ${tenant.NAME} sets the host or the server names its authorization server. Any other url may be private anyway."`

	Filter *toolFilter `json:"filter,omitempty" doc:"The server's tools to use, by the server's own names. Defaults to all."`
	Prefix *string     `json:"prefix,omitempty" pattern:"^[A-Za-z0-9_-]{0,40}$" doc:"The prefix of the tools' ids. Defaults to mcp__, the id of the entry, and two more underscores."`

	Features       []string       `json:"features,omitempty" enum:"resources|prompts|elicitation|sampling|roots" doc:"The protocol features that the server may use, in addition to tools. With resources and prompts, agents get one more tool for each; elicitation lets it ask the user of a turn, sampling the model of the agent within the turn's budgets, and roots tells a program the workspace that it runs in. Defaults to elicitation alone."`
	ChangedTools   string         `json:"changed_tools,omitempty" enum:"accept|warn|error" default:"warn" doc:"What happens when the server's tools differ from the catalog: accept and warn adopt the changes, warn with a warning in the log. With error, changed tools cannot be called and new tools are omitted until the file is deleted."`
	Catalog        string         `json:"catalog,omitempty" path:"true" doc:"The file that caches the server's tool list, to avoid a request at every start. Defaults to .runtime/mcp/<id>.json beside the configuration file."`
	ConnectTimeout *spec.Duration `json:"connect_timeout,omitempty" alias:"connect_timeout_ms:ms" default:"30s" doc:"Time limit for reaching the server and listing its tools."`

	Timeout   *spec.Duration `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"60s" doc:"Time limit of a call. Then the server is notified of its cancellation."`
	Effect    tools.Effect   `json:"effect,omitempty" enum:"read|idempotent|once" doc:"The effect of repeating a call, which decides whether a call is repeated after a crash. By default each tool's own annotations decide; without annotations it is once."`
	MaxOutput int            `json:"max_output,omitempty" min:"256" max:"1048576" default:"262144" doc:"Maximum bytes of a result's text for the model; longer text is cut."`
	Serial    bool           `json:"serial,omitempty" doc:"Prevents calls from running in parallel with other calls of the same answer."`
}

// Program returns the program with its arguments, and its working directory.
func (c *config) Program() (command []string, dir string) { return c.Command, c.Dir }

// toolFilter selects which of a server's tools are offered.
type toolFilter struct {
	Allow []string `json:"allow,omitempty" doc:"Globs; a tool must match one of them. Absent allows every tool."`
	Deny  []string `json:"deny,omitempty" doc:"Globs; a tool must match none of them."`
}

// The values of changed_tools.
const (
	changesAccepted = "accept"
	changesWarned   = "warn"
	changesRejected = "error"
)

// changePolicy returns what to do if the server's tools differ from the catalog.
func (c *config) changePolicy() string { return cmp.Or(c.ChangedTools, changesWarned) }

// MarshalJSON writes the record without the values of headers, environment
// variables and parameters of URLs, and without the credentials of auth.
func (c config) MarshalJSON() ([]byte, error) {
	c.URL = redact.URL(c.URL)
	return c.Fingerprint()
}

// Fingerprint returns the record with the parameters of its URL, which may select what the server
// offers. It is hashed to compare definitions, and not shown.
func (c config) Fingerprint() ([]byte, error) {
	type plain config
	c.Env, c.Headers = redact.Values(c.Env), redact.Values(c.Headers)
	if c.Auth != nil {
		shown := *c.Auth
		shown.Token, shown.ClientSecret, shown.PrivateKey = redact.Text(shown.Token), redact.Text(shown.ClientSecret), redact.Text(shown.PrivateKey)
		shown.TokenURL, shown.ClientURL = redact.URL(shown.TokenURL), redact.URL(shown.ClientURL)
		c.Auth = &shown
	}
	return json.Marshal(plain(c))
}

func (c *config) clone() config {
	own := *c
	own.Command = slices.Clone(c.Command)
	own.AllowPrivate = slices.Clone(c.AllowPrivate)
	own.Env, own.Headers = maps.Clone(c.Env), maps.Clone(c.Headers)
	if c.Auth != nil {
		auth := *c.Auth
		auth.Scopes = slices.Clone(auth.Scopes)
		own.Auth = &auth
	}
	return own
}

// Action names the server of a call.
func (c *config) Action() string {
	if c.URL != "" {
		return "calls the MCP server at " + redact.URL(c.URL)
	}
	return "calls the MCP server " + process.Line(c.Command)
}

// ToolPrefix returns the prefix of the tool ids of an entry.
func (c *config) ToolPrefix(id string) string {
	if c.Prefix != nil {
		return *c.Prefix
	}
	return "mcp__" + id + "__"
}

// catalogFile returns the file of the catalog.
func (c *config) catalogFile(s *tools.Settings) string {
	if c.Catalog != "" {
		return c.Catalog
	}
	return filepath.Join(s.Dir, ".runtime", "mcp", s.ID+".json")
}

// maxOutput returns the maximum size of a result's text, in bytes.
func (c *config) maxOutput() int { return tools.OutputLimit(c.MaxOutput) }

func (c *config) callTimeout() time.Duration { return tools.CallTimeout(c.Timeout) }

func (c *config) connectTimeout() time.Duration {
	if c.ConnectTimeout == nil {
		return defaultConnectTimeout
	}
	return c.ConnectTimeout.Std()
}
