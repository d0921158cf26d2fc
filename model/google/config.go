package google

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

// defaultBaseURL is the base URL of the vendor's own API.
const defaultBaseURL = "https://generativelanguage.googleapis.com"

// defaultAPIVersion is the API version that supports all features used here.
const defaultAPIVersion = "v1beta"

// Config is a provider of type google, as written in a configuration.
type Config struct {
	APIKey         string             `json:"api_key,omitempty" secret:"true" doc:"The API key, sent in the header x-goog-api-key. Omit it for a gateway that requires none."`
	BaseURL        string             `json:"base_url,omitempty" default:"https://generativelanguage.googleapis.com" doc:"The API's base URL: http or https, without the version."`
	APIVersion     string             `json:"api_version,omitempty" default:"v1beta" pattern:"^v[0-9]+([a-z]+[0-9]*)?$" doc:"The API version, as in its URLs."`
	Headers        map[string]string  `json:"headers,omitempty" secret:"true" doc:"Additional headers of every request, such as for a gateway."`
	HostConnection string             `json:"host_connection,omitempty" doc:"A connection of the host of provider serve. Its headers replace api_key, and its baseUrl parameter replaces base_url."`
	Request        *spec.RequestEdits `json:"request,omitempty" doc:"Fields to set or omit in the JSON body of every request, before the model's and the agent's."`
}

// MarshalJSON writes the configuration without its secrets: the key and the
// values of the headers.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.APIKey, c.Headers = c.apiAccess().Redact()
	return json.Marshal(plain(c))
}

var apiVersion = regexp.MustCompile(`^v[0-9]+([a-z]+[0-9]*)?$`)

// Validate checks the record in isolation. Paths are relative to the provider. No message repeats a
// value that may hold a secret.
func (c *Config) Validate() diag.List {
	list := c.apiAccess().Check()
	if c.APIVersion != "" && !apiVersion.MatchString(c.APIVersion) {
		list = append(list, diag.New(diag.InvalidValue, "api_version",
			"api_version is %q; it must look like v1 or v1beta", c.APIVersion))
	}
	if strings.HasSuffix(strings.TrimRight(c.BaseURL, "/"), "/"+c.apiVersion()) {
		list = append(list, diag.New(diag.InvalidValue, "base_url",
			"base_url ends with the version %s, which is added to it", c.apiVersion()).
			WithHint("leave it out, or set api_version"))
	}
	return list
}

// apiAccess returns the settings for reaching the API.
func (c *Config) apiAccess() *vendorhttp.Access {
	return &vendorhttp.Access{Request: c.Request, Body: bodyFields{}, APIKey: c.APIKey, BaseURL: c.BaseURL, DefaultBaseURL: defaultBaseURL, KeyHeader: keyHeader, Headers: c.Headers, HostConnection: c.HostConnection}
}

func (c *Config) apiVersion() string { return cmp.Or(c.APIVersion, defaultAPIVersion) }
