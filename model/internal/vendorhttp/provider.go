package vendorhttp

import (
	"cmp"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// Access configures access to an API, for all providers.
type Access struct {
	APIKey, BaseURL string
	// DefaultBaseURL is the address of the vendor's own API, and KeyHeader the header that carries
	// the key.
	DefaultBaseURL, KeyHeader string
	// KeySetting is the setting that controls KeyHeader if it is not api_key.
	KeySetting string
	// Headers are further headers of every request.
	Headers map[string]string
	// HostConnection names the host connection that requests use; empty for none.
	HostConnection string
	// Request changes the bodies of all requests; nil for no changes.
	Request *spec.RequestEdits
	// Body is a value of the request body's type; nil if its fields are unknown.
	Body any
	// Dialect describes the server's restrictions; nil if it supports everything the vendor does.
	Dialect *Dialect
}

func (a *Access) hasNoEdits() bool { return a.Request == nil && a.Dialect == nil }

// URL returns the address of the API.
func (a *Access) URL() string { return cmp.Or(a.BaseURL, a.DefaultBaseURL) }

// Redact returns the key and the headers in redacted form.
func (a *Access) Redact() (key string, headers map[string]string) {
	return redact.Text(a.APIKey), redact.Values(a.Headers)
}

// Configured returns the configuration of a provider, empty for nil, or its problems.
func Configured[C any, P interface {
	*C
	Validate() diag.List
}](settings model.Settings, c P) (P, error) {
	if c == nil {
		c = new(C)
	}
	if err := c.Validate().Err(); err != nil {
		return nil, fmt.Errorf("create provider %s: %w", settings.ID, err)
	}
	return c, nil
}

// NewKind returns the provider type of a function that makes executors.
func NewKind[C any, E model.Executor](name, summary string, create func(model.Settings, *C) (E, error)) model.ProviderKind {
	return spec.NewKind(name, summary, func(settings model.Settings, c *C) (model.Executor, error) {
		e, err := create(settings, c)
		if err != nil {
			return nil, err // avoids a typed nil
		}
		return e, nil
	}).AsPure()
}
