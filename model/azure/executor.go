// Package azure calls OpenAI's models on Azure, through the v1 API or the deployment paths.
// Requests and streams are handled by package openai.
package azure

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/cloudauth"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/model/openai"
)

// vendorKey matches resource keys, in the current and the older form, and tokens.
var vendorKey = regexp.MustCompile(`\b[0-9A-Za-z]{50,54}JQQJ99[0-9A-Za-z]{20,30}\b|\b[0-9a-f]{32}\b|\beyJ[\w-]{8,}\.[\w.-]*`)

// Kind returns the provider type azure_openai.
func Kind() model.ProviderKind {
	return vendorhttp.NewKind("azure_openai", "Models of OpenAI that Azure serves.", New)
}

// New returns an executor. It makes no requests.
func New(settings model.Settings, c *Config) (*openai.Executor, error) {
	return newExecutor(settings, c, transports{vendorhttp.SharedTransport(), cloudauth.MetadataTransport()})
}

func newExecutor(settings model.Settings, c *Config, t transports) (*openai.Executor, error) {
	c, err := vendorhttp.Configured(settings, c)
	if err != nil {
		return nil, err
	}
	return openai.NewAt(settings, &openai.Config{
		BaseURL: c.BaseURL, API: c.api(), Headers: c.Headers, ReasoningSummary: c.ReasoningSummary, Request: c.Request,
	}, vendorhttp.Endpoint{
		Vendor:      "azure-openai",
		Path:        c.path,
		Keys:        vendorKey,
		UnknownPath: " (check base_url, api_version, api and the name of the deployment in upstream_model)",
		Authorize:   c.authorize(t),
	}, t.vendor)
}

// isDated reports whether the version is one of the APIs with deployment paths.
func (c *Config) isDated() bool { return strings.HasPrefix(c.APIVersion, "20") }

func (c *Config) api() openai.API {
	switch {
	case c.API != "":
		return c.API
	case c.isDated():
		return openai.ChatCompletions
	default:
		return openai.Responses
	}
}

// path returns the request path for a deployment. The v1 API, and the older one for responses, read
// its name from the body.
func (c *Config) path(deployment string) (string, error) {
	query := ""
	if c.APIVersion != "" {
		query = "?api-version=" + url.QueryEscape(c.APIVersion)
	}
	switch responses := c.api() == openai.Responses; {
	case c.isDated() && responses:
		return "openai/responses" + query, nil
	case c.isDated():
		if deployment == "" || strings.Trim(deployment, ".") == "" {
			return "", vendorhttp.InvalidRequest("upstream_model must be the name of a deployment", nil)
		}
		return "openai/deployments/" + url.PathEscape(deployment) + "/chat/completions" + query, nil
	case responses:
		return "openai/v1/responses" + query, nil
	default:
		return "openai/v1/chat/completions" + query, nil
	}
}

// authorize returns the function that authorizes requests; nil if the headers suffice.
func (c *Config) authorize(t transports) vendorhttp.Authorize {
	switch {
	case c.EntraID != nil:
		return cloudauth.Bearer(c.EntraID.fetcher(t))
	case c.APIKey != "":
		key := vendorhttp.Authorization{Headers: map[string]string{keyHeader: c.APIKey}}
		return func(context.Context) (vendorhttp.Authorization, error) { return key, nil }
	default:
		return nil
	}
}
