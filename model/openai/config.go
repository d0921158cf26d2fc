package openai

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// DefaultBaseURL is where the vendor's own API is.
const DefaultBaseURL = "https://api.openai.com/v1"

// API is one of the two HTTP APIs through which a model is asked.
type API string

// The APIs.
const (
	// Responses is the vendor's newer API; it keeps a model's reasoning across
	// tool calls.
	Responses API = "responses"
	// ChatCompletions is the older API that most other vendors imitate.
	ChatCompletions API = "chat_completions"
)

// Config is a provider of type openai, as it is written in a configuration.
type Config struct {
	APIKey           string            `json:"api_key,omitempty" secret:"true" doc:"The key; sent as a bearer token. Leave it out for a local server that asks for none."`
	BaseURL          string            `json:"base_url,omitempty" default:"https://api.openai.com/v1" doc:"Where the API is: an http or https URL, for compatible servers with their path, such as http://localhost:11434/v1."`
	API              API               `json:"api,omitempty" enum:"responses|chat_completions" default:"responses" doc:"The API to use; most compatible servers know only chat_completions."`
	Organization     string            `json:"organization,omitempty" doc:"The organization that is charged, when the key belongs to several."`
	Project          string            `json:"project,omitempty" doc:"The project that is charged, when the key belongs to several."`
	Headers          map[string]string `json:"headers,omitempty" secret:"true" doc:"Further headers of every request, as a gateway may want them."`
	ReasoningSummary string            `json:"reasoning_summary,omitempty" enum:"auto|concise|detailed" doc:"Asks for a readable summary of a model's reasoning, with api: responses; models that have none are asked without it."`
}

// redacted stands for a secret wherever a configuration is shown; given back
// as a secret it is a mistake.
const redacted = "***"

// MarshalJSON writes the configuration without its secrets: the key and the
// values of the headers.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	shown := plain(c)
	if shown.APIKey != "" {
		shown.APIKey = redacted
	}
	shown.Headers = maps.Clone(c.Headers)
	for name := range shown.Headers {
		shown.Headers[name] = redacted
	}
	return json.Marshal(shown)
}

// Validate checks the record by itself. Paths are relative to the provider. No
// message repeats a value that may hold a secret.
func (c *Config) Validate() diag.List {
	var list diag.List
	list = append(list, checkBaseURL(c.BaseURL)...)
	list = append(list, checkSecret("api_key", "api_key", c.APIKey)...)
	switch c.API {
	case "", Responses, ChatCompletions:
	default:
		list = append(list, diag.New(diag.InvalidValue, "api",
			"api is %q; allowed are responses and chat_completions", c.API))
	}
	switch c.ReasoningSummary {
	case "", "auto", "concise", "detailed":
	default:
		list = append(list, diag.New(diag.InvalidValue, "reasoning_summary",
			"reasoning_summary is %q; allowed are auto, concise and detailed", c.ReasoningSummary))
	}
	list = append(list, checkToken("organization", c.Organization)...)
	list = append(list, checkToken("project", c.Project)...)
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		list = append(list, c.checkHeader(name)...)
	}
	return list
}

// checkBaseURL checks where the API is. The SDK drops a query and would send a
// user and password in place of the key, so neither is allowed.
func checkBaseURL(raw string) diag.List {
	if raw == "" {
		return nil
	}
	fault := func(what string) diag.List {
		return diag.List{diag.New(diag.InvalidValue, "base_url", "base_url %s", what)}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return fault("does not parse as a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return fault("must start with http:// or https://")
	case u.Hostname() == "":
		return fault("names no host")
	case u.User != nil:
		list := fault("must not contain a user or password")
		list[0] = list[0].WithHint("use api_key or headers")
		return list
	case u.RawQuery != "" || u.ForceQuery:
		return fault("must not have a query")
	case u.Fragment != "":
		return fault("must not have a fragment")
	}
	return nil
}

// checkSecret checks a value that goes into a header and may not be shown.
func checkSecret(path, name, value string) diag.List {
	switch {
	case value == redacted:
		return diag.List{diag.New(diag.InvalidValue, path, "%s is the placeholder that stands for a hidden one", name)}
	case !validHeaderValue(value):
		return diag.List{diag.New(diag.InvalidValue, path, "%s contains a line break or another control character", name)}
	}
	return nil
}

func checkToken(path, value string) diag.List {
	if validHeaderValue(value) {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s contains a line break or another control character", path)}
}

// checkHeader checks one of the further headers.
func (c *Config) checkHeader(name string) diag.List {
	path := diag.Key("headers", name)
	if !validHeaderName(name) {
		return diag.List{diag.New(diag.InvalidValue, path, "%q is no name of a header", name)}
	}
	switch canonical := http.CanonicalHeaderKey(name); {
	case canonical == "Authorization" && c.APIKey != "":
		return diag.List{diag.New(diag.InvalidValue, path, "the header Authorization contradicts api_key").
			WithHint("give one of the two")}
	case slices.Contains(ownHeaders, canonical):
		return diag.List{diag.New(diag.InvalidValue, path, "the header %s is the runtime's to set", canonical)}
	}
	return checkSecret(path, "the header "+name, c.Headers[name])
}

// ownHeaders must fit the body and the connection, which a configuration knows
// nothing of.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length",
	"Content-Type", "Host", "Transfer-Encoding",
}

// validHeaderName reports whether name is a token of RFC 9110.
func validHeaderName(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return true
}

func validHeaderValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func (c *Config) baseURL() string {
	if c.BaseURL == "" {
		return DefaultBaseURL
	}
	return c.BaseURL
}
