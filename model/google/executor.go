// Package google calls models through the Gemini API.
//
// It writes requests and reads answers itself and uses the vendor's SDK only in its tests. The
// SDK's client decodes every number as a float64, so that a call loses the digits of a large id; it
// accepts events of any size, prints stream errors to the standard log, and reads the environment.
// Its types alone would link a WebSocket client and the Google Cloud login.
package google

import (
	"cmp"
	"net/http"
	"regexp"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// Executor calls the models of one provider. It is safe for concurrent use.
type Executor struct {
	vendorhttp.Base
	// version is the API version, with which every path begins.
	version string
	tools   *vendorhttp.ToolCache[[]byte]
	// path returns the request path for a model, below the base URL.
	path  func(model string) (string, error)
	known vendorhttp.Concessions[thinkingSupport]
}

var (
	_ model.Executor     = (*Executor)(nil)
	_ model.Vendor       = (*Executor)(nil)
	_ catalog.Listed     = (*Executor)(nil)
	_ model.FieldLearner = (*Executor)(nil)
	_ model.ToolAdapter  = (*Executor)(nil)
)

// vendorKey matches the vendor's keys, even partially masked.
var vendorKey = regexp.MustCompile(`\bAIza[\w*-]{8,}|\bAQ\.[\w*-]{8,}`)

// Kind returns the provider type google.
func Kind() model.ProviderKind {
	return vendorhttp.NewKind("google", "Google's Gemini API.", New)
}

// New returns an executor. It makes no requests; a configuration without a key is valid until the
// server requires one.
func New(settings model.Settings, c *Config) (*Executor, error) {
	return NewAt(settings, c, vendorhttp.Endpoint{}, vendorhttp.SharedTransport())
}

// NewAt is New for models at a cloud endpoint. Empty fields of the endpoint default to the vendor's
// own.
func NewAt(settings model.Settings, c *Config, at vendorhttp.Endpoint, transport http.RoundTripper) (*Executor, error) {
	c, err := vendorhttp.Configured(settings, c)
	if err != nil {
		return nil, err
	}
	e := &Executor{
		version: c.apiVersion(),
		tools:   vendorhttp.NewToolCache(encodeTools),
		path:    at.Path,
	}
	if e.path == nil {
		e.path = streamPath
	}
	api, err := c.apiAccess().NewAPI(transport, settings, vendorhttp.Protocol{
		Header:  headersOf(c),
		Keys:    cmp.Or(at.Keys, vendorKey),
		Refusal: readRefusal,
		Names:   toolschema.Gemini.Names,
		Framing: vendorhttp.Framing{PlainErrors: true},

		Authorize: at.Authorize,
	})
	if err != nil {
		return nil, err
	}
	e.Base = vendorhttp.NewBase(cmp.Or(at.Vendor, "google"), api, func(req *model.Request) vendorhttp.Exchange {
		return &exchange{executor: e, request: req, form: formOf(req), thinking: e.known.Of(req.Model)}
	})
	return e, nil
}

// keyHeader carries the key; a key in the URL would end up in logs.
const keyHeader = "X-Goog-Api-Key"

// headersOf returns the headers of every request.
func headersOf(c *Config) http.Header {
	header := http.Header{}
	if c.APIKey != "" {
		header.Set(keyHeader, c.APIKey)
	}
	return header
}

// ToolDialect returns the tool dialect of all models.
func (*Executor) ToolDialect(string) model.ToolDialect { return toolschema.Gemini }

// CheckParams returns the parameters that the API does not have.
func (*Executor) CheckParams(_ string, p *model.Params) []model.ParamFault {
	return p.MissingParams("service_tier", "verbosity")
}
