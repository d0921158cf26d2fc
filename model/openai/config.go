package openai

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

// Config is a provider of type openai, as written in a configuration.
type Config struct {
	APIKey           string             `json:"api_key,omitempty" secret:"true" doc:"The API key, sent as a bearer token. Omit it for a local server that requires none."`
	BaseURL          string             `json:"base_url,omitempty" default:"https://api.openai.com/v1" doc:"The API's base URL: http or https, including the path of a compatible server, such as http://localhost:11434/v1."`
	Dialect          string             `json:"dialect,omitempty" enum:"openai|compatible|mistral|deepseek|ollama|openrouter|groq|xai|vllm" doc:"The variant of chat_completions that the server implements. It determines the optional fields of requests and the defaults of base_url and api. Defaults to the variant of base_url's host, or to openai."`
	API              API                `json:"api,omitempty" enum:"responses|chat_completions" default:"responses" doc:"The API. Most compatible servers support only chat_completions."`
	Organization     string             `json:"organization,omitempty" doc:"The organization to charge if the key belongs to several."`
	Project          string             `json:"project,omitempty" doc:"The project to charge if the key belongs to several."`
	Headers          map[string]string  `json:"headers,omitempty" secret:"true" doc:"Additional headers of every request, such as for a gateway."`
	HostConnection   string             `json:"host_connection,omitempty" doc:"A connection of the host of provider serve. Its headers replace api_key, and its baseUrl parameter replaces base_url."`
	ReasoningSummary string             `json:"reasoning_summary,omitempty" enum:"auto|concise|detailed" doc:"Requests a readable reasoning summary, with api: responses. It is not requested from models without summaries."`
	Request          *spec.RequestEdits `json:"request,omitempty" doc:"Fields to set or omit in the JSON body of every request, before the model's and the agent's."`
}

// MarshalJSON writes the configuration without its secrets: the key and the
// values of the headers.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.APIKey, c.Headers = c.apiAccess().Redact()
	return json.Marshal(plain(c))
}

// Validate checks the record in isolation. Paths are relative to the provider. No message repeats a
// value that may contain a secret.
func (c *Config) Validate() diag.List {
	list := append(c.apiAccess().Check(), c.checkDialect()...)
	list = append(list, CheckAPI(c.API, c.ReasoningSummary)...)
	list = append(list, vendorhttp.CheckSecret("organization", "organization", c.Organization)...)
	list = append(list, vendorhttp.CheckSecret("project", "project", c.Project)...)
	return list
}

// CheckAPI checks a provider's API and reasoning summary, wherever the models are served.
func CheckAPI(api API, reasoningSummary string) (list diag.List) {
	switch api {
	case "", Responses, ChatCompletions:
	default:
		list = append(list, diag.New(diag.InvalidValue, "api", "api is %q; allowed are responses and chat_completions", api))
	}
	switch reasoningSummary {
	case "", "auto", "concise", "detailed":
	default:
		list = append(list, diag.New(diag.InvalidValue, "reasoning_summary",
			"reasoning_summary is %q; allowed are auto, concise and detailed", reasoningSummary))
	}
	return list
}

// BodyOf returns a value of an API's request type.
func BodyOf(api API) any {
	if api == ChatCompletions {
		return chatBody{}
	}
	return responsesBody{}
}

// apiAccess returns the access to the API.
func (c *Config) apiAccess() *vendorhttp.Access {
	return &vendorhttp.Access{Request: c.Request, Body: BodyOf(c.api()), APIKey: c.APIKey, BaseURL: c.BaseURL, DefaultBaseURL: cmp.Or(c.server().baseURL, defaultBaseURL), Dialect: c.requestDialect(), KeyHeader: "Authorization", Headers: c.Headers, HostConnection: c.HostConnection}
}

// server returns the server of the configured dialect, or else of the configured host.
func (c *Config) server() *server {
	if c.Dialect != "" {
		for i := range servers {
			if servers[i].dialect == c.Dialect {
				return &servers[i]
			}
		}
		return &servers[0] // not reached: validated
	}
	if at, err := url.Parse(c.BaseURL); err == nil && at.Scheme == "https" {
		for i := range servers {
			if own, err := url.Parse(servers[i].baseURL); err == nil && own.Host == at.Host {
				return &servers[i]
			}
		}
	}
	return &servers[0]
}

// tools returns the tools that the server accepts. A server at another host may imitate OpenAI
// and accept more.
func (c *Config) tools() *toolschema.Dialect {
	switch {
	case c.server() != &servers[0]:
		return toolschema.Compatible
	case c.isVendorsOwn():
		return toolschema.OpenAILimited
	default:
		return toolschema.OpenAI
	}
}

// isVendorsOwn reports whether the server is OpenAI or Azure, instead of an imitator.
func (c *Config) isVendorsOwn() bool {
	at := c.apiAccess().URL()
	return c.server() == &servers[0] && (at == defaultBaseURL || vendorAt(at) != "openai")
}

// requestDialect returns the server's restrictions; nil if it supports everything the vendor
// does.
func (c *Config) requestDialect() *vendorhttp.Dialect {
	if s := c.server(); s != &servers[0] {
		return &s.takes
	}
	return nil
}

// api returns the API to use. Most imitators support only Chat Completions.
func (c *Config) api() API {
	if c.API == "" && c.Dialect != "" && c.Dialect != servers[0].dialect {
		return cmp.Or(c.server().api, ChatCompletions)
	}
	return cmp.Or(c.API, Responses)
}

func (c *Config) checkDialect() diag.List {
	if c.Dialect == "" {
		return nil
	}
	known := make([]string, len(servers))
	for i := range servers {
		known[i] = servers[i].dialect
	}
	switch {
	case !slices.Contains(known, c.Dialect):
		return diag.List{diag.New(diag.InvalidValue, "dialect", "dialect is %q; allowed are %s", c.Dialect, strings.Join(known, ", "))}
	case c.server().baseURL == "" && c.BaseURL == "":
		return diag.List{diag.New(diag.InvalidValue, "base_url", "base_url is required with dialect: %s", c.Dialect)}
	}
	return nil
}
