package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

// defaultBaseURL is the base URL of the vendor's own API.
const defaultBaseURL = "https://api.anthropic.com"

// defaultMaxOutputTokens limits an answer when neither the request nor the provider does, because
// the API requires a limit. The thinking budget is added.
const defaultMaxOutputTokens = 16 << 10

// Config is a provider of type anthropic, as written in a configuration.
type Config struct {
	APIKey          string             `json:"api_key,omitempty" secret:"true" doc:"The API key, sent as the header X-Api-Key. Omit it if a gateway requires another credential in headers."`
	BaseURL         string             `json:"base_url,omitempty" default:"https://api.anthropic.com" doc:"The API's base URL: http or https, without the /v1 prefix of its paths."`
	MaxOutputTokens int                `json:"max_output_tokens,omitempty" default:"16384" doc:"The output limit, in tokens, for requests without one, since the API requires it. Thinking tokens are added to it."`
	Headers         map[string]string  `json:"headers,omitempty" secret:"true" doc:"Additional headers of every request, such as anthropic-beta, or for a gateway."`
	HostConnection  string             `json:"host_connection,omitempty" doc:"A connection of the host of provider serve. Its headers replace api_key, and its baseUrl parameter replaces base_url."`
	Request         *spec.RequestEdits `json:"request,omitempty" doc:"Fields to set or omit in the JSON body of every request, before the model's and the agent's."`
}

// MarshalJSON writes the configuration without its secrets: the key and the
// values of the headers.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.APIKey, c.Headers = c.apiAccess().Redact()
	return json.Marshal(plain(c))
}

// Validate checks the record in isolation. Paths are relative to the provider. No message repeats a
// value that may hold a secret.
func (c *Config) Validate() diag.List {
	list := c.apiAccess().Check()
	if len(vendorhttp.CheckBaseURL(c.BaseURL)) == 0 && strings.HasSuffix(strings.TrimSuffix(c.BaseURL, "/"), "/v1") {
		list = append(list, diag.New(diag.InvalidValue, "base_url", "base_url must not end in /v1, which is added to it"))
	}
	if c.MaxOutputTokens < 0 {
		list = append(list, diag.New(diag.InvalidValue, "max_output_tokens",
			"max_output_tokens is %d; it must be 0 or more", c.MaxOutputTokens))
	}
	return list
}

// apiAccess returns the settings for reaching the API.
func (c *Config) apiAccess() *vendorhttp.Access {
	return &vendorhttp.Access{Request: c.Request, Body: bodyFields{}, APIKey: c.APIKey, BaseURL: c.BaseURL, DefaultBaseURL: defaultBaseURL, KeyHeader: "X-Api-Key", Headers: c.Headers, HostConnection: c.HostConnection}
}
