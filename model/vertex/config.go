package vertex

import (
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/google"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

// keyHeader carries a key; a key in the URL would end up in logs.
const keyHeader = "X-Goog-Api-Key"

// Config is a provider of type vertex, as written in a configuration.
type Config struct {
	Project            string             `json:"project,omitempty" required:"true" pattern:"^[a-z0-9.:-]+$" doc:"The ID of the project to charge."`
	Location           string             `json:"location,omitempty" default:"global" pattern:"^[a-z0-9-]+$" doc:"The location: global, a region such as europe-west1, or us or eu."`
	ServiceAccountFile string             `json:"service_account_file,omitempty" path:"true" doc:"The JSON key file of a service account. It is read for each new token. Without it, and without api_key and token: none, tokens come from the machine's metadata server."`
	APIKey             string             `json:"api_key,omitempty" secret:"true" doc:"A key bound to a service account, used instead of tokens and sent in the header x-goog-api-key."`
	Token              string             `json:"token,omitempty" enum:"metadata|none" doc:"metadata takes tokens from the machine's metadata server; none sends no tokens, for a gateway that adds them."`
	MaxOutputTokens    int                `json:"max_output_tokens,omitempty" min:"0" default:"16384" doc:"The output limit of Claude, in tokens, for requests without one."`
	BaseURL            string             `json:"base_url,omitempty" doc:"The API's base URL. Defaults to the location's endpoint."`
	Headers            map[string]string  `json:"headers,omitempty" secret:"true" doc:"Extra headers of every request, such as x-goog-user-project."`
	Request            *spec.RequestEdits `json:"request,omitempty" doc:"Fields to set or omit in the JSON body of every request, before the model's and the agent's."`
}

// MarshalJSON writes the configuration without its secrets.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.APIKey, c.Headers = c.apiAccess().Redact()
	return json.Marshal(plain(c))
}

var (
	projectID    = regexp.MustCompile(`^[a-z0-9.:-]+$`)
	locationName = regexp.MustCompile(`^[a-z0-9-]+$`)
)

// Validate checks the record in isolation. Paths are relative to the provider. No message repeats a
// value that may contain a secret.
func (c *Config) Validate() diag.List {
	list := append(c.apiAccess().Check(), c.apiAccess().CheckCredential(c.ServiceAccountFile != "" || c.Token != "",
		"service_account_file, api_key, token: metadata for the account of the machine, or token: none for a gateway that adds tokens")...)
	list = append(list, c.checkEdits()...)
	switch {
	case c.Project == "":
		list = append(list, diag.New(diag.InvalidValue, "project", "project is required"))
	case !projectID.MatchString(c.Project):
		list = append(list, diag.New(diag.InvalidValue, "project", "project is %q; it must be an ID such as my-project-123", c.Project))
	}
	if c.Location != "" && !locationName.MatchString(c.Location) {
		list = append(list, diag.New(diag.InvalidValue, "location", "location is %q; it must look like global or europe-west1", c.Location))
	}
	if c.MaxOutputTokens < 0 {
		list = append(list, diag.New(diag.InvalidValue, "max_output_tokens", "max_output_tokens is %d; it must be 0 or more", c.MaxOutputTokens))
	}
	if c.ServiceAccountFile != "" {
		if info, err := os.Stat(c.ServiceAccountFile); err != nil || !info.Mode().IsRegular() {
			list = append(list, diag.New(diag.InvalidValue, "service_account_file", "service_account_file is not a file that can be read").
				WithSeverity(diag.Warning).WithHint("requests fail until it is the JSON key of a service account"))
		}
	}
	switch {
	case c.Token != "" && c.Token != "metadata" && c.Token != "none":
		list = append(list, diag.New(diag.InvalidValue, "token", "token is %q; allowed are metadata and none", c.Token))
	case c.ServiceAccountFile != "" && c.Token != "":
		list = append(list, diag.New(diag.InvalidValue, "token", "token contradicts service_account_file").WithHint("give one of the two"))
	case c.APIKey != "" && (c.ServiceAccountFile != "" || c.Token == "metadata"):
		list = append(list, diag.New(diag.InvalidValue, "api_key", "api_key contradicts service_account_file and token: metadata").WithHint("give one of them"))
	}
	return list
}

// checkEdits warns about request edits that change nothing, for both Gemini and Claude.
func (c *Config) checkEdits() (list diag.List) {
	claude := (&anthropic.Config{Request: c.Request}).Validate()
	for _, d := range (&google.Config{Request: c.Request}).Validate() {
		if d.Code == diag.NoEffect && slices.ContainsFunc(claude, func(other diag.Diagnostic) bool { return other.Code == d.Code && other.Path == d.Path }) {
			list = append(list, d)
		}
	}
	return list
}

// usesTokens reports whether requests carry tokens.
func (c *Config) usesTokens() bool { return c.APIKey == "" && c.Token != "none" }

// apiAccess returns the access to the API.
func (c *Config) apiAccess() *vendorhttp.Access {
	a := &vendorhttp.Access{Request: c.Request, APIKey: c.APIKey, BaseURL: c.BaseURL, DefaultBaseURL: c.endpoint(), KeyHeader: keyHeader, Headers: c.Headers}
	if c.usesTokens() {
		a.KeyHeader, a.KeySetting = "Authorization", "token"
	}
	return a
}

// location returns the location where models run.
func (c *Config) location() string { return cmp.Or(c.Location, "global") }

// endpoint returns the vendor's endpoint of the location.
func (c *Config) endpoint() string {
	switch location := c.location(); location {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com"
	default:
		return "https://" + location + "-aiplatform.googleapis.com"
	}
}
