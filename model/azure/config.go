package azure

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/spec"
)

// keyHeader carries a resource's key.
const keyHeader = "Api-Key"

// Config is a provider of type azure_openai, as written in a configuration.
type Config struct {
	BaseURL          string             `json:"base_url,omitempty" required:"true" doc:"The endpoint of the resource, such as https://NAME.openai.azure.com, without the path /openai."`
	APIKey           string             `json:"api_key,omitempty" secret:"true" doc:"An API key of the resource, sent in the header Api-Key. Omit it with entra_id."`
	EntraID          *EntraID           `json:"entra_id,omitempty" doc:"Uses Microsoft Entra ID tokens instead of a key."`
	API              openai.API         `json:"api,omitempty" enum:"responses|chat_completions" doc:"The API to use. Defaults to responses, and to chat_completions with a dated api_version."`
	APIVersion       string             `json:"api_version,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?|v1|preview|latest)$" doc:"The API version. A dated one, such as 2024-10-21, selects deployment paths, /openai/deployments/NAME. If empty, v1, preview or latest, requests go to /openai/v1."`
	Headers          map[string]string  `json:"headers,omitempty" secret:"true" doc:"Additional headers of every request, such as for a gateway."`
	ReasoningSummary string             `json:"reasoning_summary,omitempty" enum:"auto|concise|detailed" doc:"Requests a readable reasoning summary, with api: responses. It is not requested from models without summaries."`
	Request          *spec.RequestEdits `json:"request,omitempty" doc:"Fields to set or omit in the JSON body of every request, before the model's and the agent's."`
}

// EntraID configures how to obtain Microsoft Entra ID tokens: with a client secret, with the token
// file of a workload identity, or from the machine's managed identity.
type EntraID struct {
	TenantID           string `json:"tenant_id,omitempty" doc:"The tenant of the application. Required without managed_identity."`
	ClientID           string `json:"client_id,omitempty" doc:"The application, or a user-assigned managed identity. Required without managed_identity."`
	ClientSecret       string `json:"client_secret,omitempty" secret:"true" doc:"A secret of the application."`
	FederatedTokenFile string `json:"federated_token_file,omitempty" path:"true" doc:"The file with the workload identity token, named by AZURE_FEDERATED_TOKEN_FILE in Kubernetes. It is read for each new token."`
	ManagedIdentity    bool   `json:"managed_identity,omitempty" doc:"Uses the managed identity of the virtual machine, or of the app if identity_endpoint is set."`
	IdentityEndpoint   string `json:"identity_endpoint,omitempty" doc:"In App Service, Functions and Container Apps: ${IDENTITY_ENDPOINT}."`
	IdentityHeader     string `json:"identity_header,omitempty" secret:"true" doc:"In App Service, Functions and Container Apps: ${IDENTITY_HEADER}."`
	Authority          string `json:"authority,omitempty" default:"https://login.microsoftonline.com" doc:"The authority that issues tokens. Other clouds, such as the US government's, have their own."`
	Scope              string `json:"scope,omitempty" default:"https://cognitiveservices.azure.com/.default" doc:"The scope of tokens."`
}

// MarshalJSON writes the configuration without its secrets.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.APIKey, c.Headers = c.apiAccess().Redact()
	return json.Marshal(plain(c))
}

// MarshalJSON writes the record without its secrets.
func (e EntraID) MarshalJSON() ([]byte, error) {
	type plain EntraID
	e.ClientSecret, e.IdentityHeader = redact.Text(e.ClientSecret), redact.Text(e.IdentityHeader)
	return json.Marshal(plain(e))
}

var apiVersion = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?|v1|preview|latest)$`)

// Validate checks the record in isolation. Paths are relative to the provider. No message repeats a
// value that may hold a secret.
func (c *Config) Validate() diag.List {
	list := append(c.apiAccess().Check(), c.apiAccess().CheckCredential(c.EntraID != nil, "api_key or entra_id")...)
	switch u, err := url.Parse(c.BaseURL); {
	case c.BaseURL == "":
		list = append(list, diag.New(diag.InvalidValue, "base_url", "base_url is required").
			WithHint("give the endpoint of the resource, such as https://NAME.openai.azure.com"))
	case err == nil && strings.Contains(u.Path+"/", "/openai/"):
		list = append(list, diag.New(diag.InvalidValue, "base_url", "base_url must not contain the path /openai, which is added to it").
			WithHint("leave it out; api_version selects between /openai/deployments and /openai/v1"))
	}
	list = append(list, openai.CheckAPI(c.API, c.ReasoningSummary)...)
	if c.APIVersion != "" && !apiVersion.MatchString(c.APIVersion) {
		list = append(list, diag.New(diag.InvalidValue, "api_version", "api_version is %q; it must be a date such as 2024-10-21, v1, preview or latest", c.APIVersion))
	}
	if c.EntraID != nil {
		list = append(list, c.EntraID.validate()...)
		if c.APIKey != "" {
			list = append(list, diag.New(diag.InvalidValue, "entra_id", "entra_id contradicts api_key").WithHint("give one of the two"))
		}
	}
	return list
}

// validate checks that there is exactly one way to obtain tokens.
func (e *EntraID) validate() diag.List {
	var list diag.List
	fault := func(field, format string, args ...any) {
		list = append(list, diag.New(diag.InvalidValue, "entra_id."+field, format, args...))
	}
	ways := 0
	for _, used := range []bool{e.ClientSecret != "", e.FederatedTokenFile != "", e.ManagedIdentity} {
		if used {
			ways++
		}
	}
	if ways != 1 {
		list = append(list, diag.New(diag.InvalidValue, "entra_id",
			"entra_id needs exactly one of client_secret, federated_token_file and managed_identity"))
		return list
	}
	if e.ManagedIdentity {
		if e.TenantID != "" {
			fault("tenant_id", "tenant_id has no effect with managed_identity")
		}
		if (e.IdentityEndpoint == "") != (e.IdentityHeader == "") {
			fault("identity_endpoint", "identity_endpoint and identity_header are given together or not at all")
		}
	} else {
		for _, field := range [][2]string{{"tenant_id", e.TenantID}, {"client_id", e.ClientID}} {
			if field[1] == "" {
				fault(field[0], "%s is required without managed_identity", field[0])
			}
		}
		if e.IdentityEndpoint != "" || e.IdentityHeader != "" {
			fault("identity_endpoint", "identity_endpoint and identity_header need managed_identity")
		}
	}
	list = append(list, vendorhttp.CheckURL("entra_id.authority", e.Authority)...)
	list = append(list, vendorhttp.CheckURL("entra_id.identity_endpoint", e.IdentityEndpoint)...)
	list = append(list, vendorhttp.CheckSecret("entra_id.client_secret", "client_secret", e.ClientSecret)...)
	return append(list, vendorhttp.CheckSecret("entra_id.identity_header", "identity_header", e.IdentityHeader)...)
}

// apiAccess returns the settings for reaching the API.
func (c *Config) apiAccess() *vendorhttp.Access {
	a := &vendorhttp.Access{Request: c.Request, Body: openai.BodyOf(c.api()), APIKey: c.APIKey, BaseURL: c.BaseURL, KeyHeader: keyHeader, Headers: c.Headers}
	if c.EntraID != nil {
		a.KeyHeader, a.KeySetting = "Authorization", "entra_id"
	}
	return a
}
