// Package http is the tool kind http: a call becomes one HTTP request that
// a configuration file describes.
//
// The configuration is trusted, the arguments are not: a model wrote them, and
// may repeat what a web page told it to. So an argument can only ever fill the
// place it was given (it is escaped for where it stands), the host is fixed,
// redirects are not followed, and addresses of the runtime's own network are
// refused unless the configuration allows them.
//
// A request carries its trace (traceparent, tracestate), but never
// carries baggage. One with side effects names its call
// (Idempotency-Key), so that a server can tell a call that is repeated after a
// crash from another one. Headers that the configuration sets stay as they are.
package http

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Config is what a configuration file says of a tool of this kind. In url,
// headers, query and body {{name}} stands for the argument of that name; an
// argument that is missing or null leaves nothing in its place.
type Config struct {
	Description string          `json:"description,omitempty" doc:"Tells the model what the tool is for; models choose tools by it."`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"The JSON Schema of the arguments, an object."`

	Method         string            `json:"method,omitempty" enum:"GET|POST|PUT|PATCH|DELETE|HEAD" default:"GET" doc:"The request's method."`
	URL            string            `json:"url" required:"true" variables:"tenant" doc:"Where the request goes: an http or https URL. {{name}} may stand in its path and in the values of its query, ${tenant.NAME} there, in its host, and in place of its beginning."`
	Headers        map[string]string `json:"headers,omitempty" secret:"true" variables:"tenant" doc:"Headers of the request. {{name}} and ${tenant.NAME} may stand in the values."`
	HostConnection string            `json:"host_connection,omitempty" doc:"The connection of the host of provider serve whose headers the request has, in place of those in headers with the same names."`
	Query          map[string]string `json:"query,omitempty" variables:"tenant" doc:"Query parameters added to those of the url. {{name}} and ${tenant.NAME} may stand in the values; a value that is nothing but a missing argument is left out."`
	Body           json.RawMessage   `json:"body,omitempty" doc:"The body: a text, or any structure, which is sent as JSON; {{name}} may stand in both. For POST, PUT and PATCH it defaults to the arguments that {{name}} stands for nowhere, as a JSON object."`

	Timeout      *spec.Duration `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"60s" doc:"How long a call may take."`
	Effect       tools.Effect   `json:"effect,omitempty" enum:"read|idempotent|once" doc:"What repeating a call does, which decides whether it may happen again after a crash. Defaults to read for GET and HEAD, else to once."`
	MaxOutput    int            `json:"max_output,omitempty" min:"256" max:"1048576" default:"262144" doc:"Bytes of a response that the model is given; what is longer is cut."`
	AllowPrivate []string       `json:"allow_private,omitempty" doc:"Hosts, IP addresses and CIDR blocks that may be reached although they are not public, each optionally with a port."`
	Serial       bool           `json:"serial,omitempty" doc:"Keeps calls from running beside others of the same answer."`
}

// MarshalJSON writes the record without the values of headers, and of query
// parameters whose names suggest credentials.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.Headers, c.Query = redact.Values(c.Headers), hideCredentials(c.Query)
	return json.Marshal(plain(c))
}

// hideCredentials hides the values of parameters whose names suggest credentials.
func hideCredentials(values map[string]string) map[string]string {
	shown := maps.Clone(values)
	for name := range shown {
		if namesCredential(name) {
			shown[name] = redact.Placeholder
		}
	}
	return shown
}

// Action describes the request of a call, with placeholders for the arguments.
func (c *Config) Action() string { return "sends " + c.httpMethod() + " " + c.URL }

func (c *Config) httpMethod() string {
	if c.Method == "" {
		return "GET"
	}
	return c.Method
}

func (c *Config) toolEffect() tools.Effect {
	switch {
	case c.Effect != "":
		return c.Effect
	case c.httpMethod() == "GET" || c.httpMethod() == "HEAD":
		return tools.Read
	default:
		return tools.Once
	}
}

func (c *Config) responseLimit() int { return tools.OutputLimit(c.MaxOutput) }

func (c *Config) callTimeout() time.Duration { return tools.CallTimeout(c.Timeout) }
