// Package http is the tool kind http: a call becomes one HTTP request that a configuration file
// describes.
//
// The configuration is trusted, the arguments are not: they come from a model, which may repeat
// instructions from a web page. So an argument can only fill its place, where it is escaped. The
// host is fixed, redirects are not followed, and private addresses are rejected unless the
// configuration allows them.
//
// A request carries its trace (traceparent, tracestate) but never baggage. A request with side
// effects names its call (Idempotency-Key), so that a server can recognize a call that is repeated
// after a crash. Headers that the configuration sets are not changed.
package http

import (
	"cmp"
	"encoding/json"
	"maps"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// config is the configuration of a tool of this kind. In url, headers, query and body {{name}} is
// replaced by the argument with that name, or by nothing if the argument is missing or null.
type config struct {
	Description string          `json:"description,omitempty" doc:"The tool's purpose, by which models choose tools."`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"The JSON Schema of the arguments, an object."`

	Method         string            `json:"method,omitempty" enum:"GET|POST|PUT|PATCH|DELETE|HEAD" default:"GET" doc:"The request's method."`
	URL            string            `json:"url" required:"true" variables:"tenant" doc:"The http or https URL of the request. {{name}} may be used in its path and the values of its query, ${tenant.NAME} also in its host or as its beginning."`
	Headers        map[string]string `json:"headers,omitempty" secret:"true" variables:"tenant" doc:"Request headers. {{name}} and ${tenant.NAME} may be used in the values."`
	HostConnection string            `json:"host_connection,omitempty" doc:"A connection of the host of provider serve. Its headers are sent and override headers with the same names."`
	Query          map[string]string `json:"query,omitempty" secret:"query" variables:"tenant" doc:"Query parameters added to the url's. {{name}} and ${tenant.NAME} may be used in the values; a value that is only a missing argument is omitted."`
	Body           json.RawMessage   `json:"body,omitempty" doc:"The body: a text, or any structure, which is sent as JSON; {{name}} may be used in both. For POST, PUT and PATCH it defaults to a JSON object of the arguments that are not used elsewhere."`

	Timeout      *spec.Duration `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"60s" doc:"Time limit of a call."`
	Effect       tools.Effect   `json:"effect,omitempty" enum:"read|idempotent|once" doc:"The effect of repeating a call, which decides whether a call is repeated after a crash. Defaults to read for GET and HEAD, else to once."`
	MaxOutput    int            `json:"max_output,omitempty" min:"256" max:"1048576" default:"262144" doc:"Maximum bytes of a response for the model; longer responses are cut."`
	AllowPrivate []string       `json:"allow_private,omitempty" doc:"Non-public hosts, IP addresses and CIDR blocks that may be reached, each optionally with a port."`
	Serial       bool           `json:"serial,omitempty" doc:"Prevents calls from running in parallel with other calls of the same answer."`
}

// MarshalJSON writes the record without the values of headers and of the parameters of the URL.
func (c config) MarshalJSON() ([]byte, error) {
	type plain config
	c.URL, c.Headers, c.Query = redact.URL(c.URL), redact.Values(c.Headers), redact.Parameters(c.Query)
	return json.Marshal(plain(c))
}

// Fingerprint returns the record with the parameters that decide what a call does. It is hashed
// to compare definitions, and not shown.
func (c *config) Fingerprint() ([]byte, error) {
	type plain config
	compared := plain(*c)
	compared.Headers, compared.Query = redact.Values(c.Headers), maps.Clone(c.Query)
	for name := range compared.Query {
		if namesCredential(name) {
			compared.Query[name] = redact.Placeholder
		}
	}
	return json.Marshal(compared)
}

// Action describes the request of a call, with placeholders for the arguments.
func (c *config) Action() string { return "sends " + c.httpMethod() + " " + redact.URL(c.URL) }

func (c *config) httpMethod() string { return cmp.Or(c.Method, "GET") }

func (c *config) toolEffect() tools.Effect {
	switch {
	case c.Effect != "":
		return c.Effect
	case c.httpMethod() == "GET" || c.httpMethod() == "HEAD":
		return tools.Read
	default:
		return tools.Once
	}
}
