// Package anthropic calls models through the Anthropic Messages API. It writes requests and reads
// answers itself: it would use a tenth of the types of the vendor's SDK and none of the client's
// behavior, for 18 MB of the binary. The tests read every request with the SDK's types.
package anthropic

import (
	"cmp"
	"net/http"
	"regexp"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/model/internal/claude"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// Executor calls the models of one provider. It is safe for concurrent use.
type Executor struct {
	vendorhttp.Base
	tools *vendorhttp.ToolCache[[]byte]
	// maxOutputTokens limits the answers to requests that set no limit.
	maxOutputTokens int
	at              Endpoint
	known           vendorhttp.Concessions[concessions]
}

var (
	_ model.Executor     = (*Executor)(nil)
	_ model.Vendor       = (*Executor)(nil)
	_ catalog.Listed     = (*Executor)(nil)
	_ model.FieldLearner = (*Executor)(nil)
	_ model.ToolAdapter  = (*Executor)(nil)
)

// vendorKey matches the vendor's keys, even partially masked.
var vendorKey = regexp.MustCompile(`\bsk-[\w*-]{8,}`)

// messagesPath is the request path below the base URL.
const messagesPath = "v1/messages"

// apiVersion is the API version used by this package.
const apiVersion = "2023-06-01"

// Kind returns the provider type anthropic.
func Kind() model.ProviderKind {
	return vendorhttp.NewKind("anthropic", "Anthropic and gateways that speak its Messages API.", New)
}

// New returns an executor. It makes no requests; a configuration without a key is valid until the
// server requires one.
func New(settings model.Settings, c *Config) (*Executor, error) {
	return NewAt(settings, c, Endpoint{}, vendorhttp.SharedTransport())
}

// Endpoint is a cloud endpoint that serves the models.
type Endpoint struct {
	vendorhttp.Endpoint
	// Version is sent in the body as anthropic_version, with the model only in the path; empty for
	// the vendor's own API.
	Version string
}

// NewAt is New for models at a cloud endpoint. Empty fields of the endpoint default to the vendor's
// own.
func NewAt(settings model.Settings, c *Config, at Endpoint, transport http.RoundTripper) (*Executor, error) {
	c, err := vendorhttp.Configured(settings, c)
	if err != nil {
		return nil, err
	}
	e := &Executor{
		tools:           vendorhttp.NewToolCache(encodeTools),
		maxOutputTokens: cmp.Or(c.MaxOutputTokens, defaultMaxOutputTokens),
		at:              at,
	}
	api, err := c.apiAccess().NewAPI(transport, settings, vendorhttp.Protocol{
		Header:  e.headersOf(c),
		Keys:    cmp.Or(at.Keys, vendorKey),
		Refusal: readRefusal,
		Names:   toolschema.Anthropic.Names,
		Framing: vendorhttp.Framing{StrictEnd: true},

		Authorize: at.Authorize,
	})
	if err != nil {
		return nil, err
	}
	e.Base = vendorhttp.NewBase(cmp.Or(at.Vendor, "anthropic"), api, func(req *model.Request) vendorhttp.Exchange {
		return &exchange{executor: e, request: req, granted: e.known.Of(req.Model)}
	})
	return e, nil
}

// headersOf returns the headers of every request.
func (e *Executor) headersOf(c *Config) http.Header {
	header := http.Header{}
	if e.at.Version == "" {
		header.Set("Anthropic-Version", apiVersion)
	}
	if c.APIKey != "" {
		header.Set("X-Api-Key", c.APIKey)
	}
	return header
}

// ToolDialect returns the tool dialect of all models.
func (*Executor) ToolDialect(string) model.ToolDialect { return toolschema.Anthropic }

// CheckParams returns the parameters that the API does not have, and the values that it rejects.
func (e *Executor) CheckParams(_ string, p *model.Params) []model.ParamFault {
	faults := p.MissingParams("seed", "verbosity")
	if e.at.Version != "" {
		faults = append(faults, p.MissingParams("service_tier")...)
	}
	return append(faults, claude.CheckSampling(p, true)...)
}

// exchange is one request. It starts with the concessions already known for the model.
type exchange struct {
	executor *Executor
	request  *model.Request
	granted  concessions
	// plan is the latest form of the request.
	plan *plan
}

// Encode returns the request with the concessions so far.
func (x *exchange) Encode() (path string, body []byte, err error) {
	if x.plan, err = x.executor.planRequest(x.request, x.granted); err != nil {
		return "", nil, err
	}
	if path = messagesPath; x.executor.at.Path != nil {
		if path, err = x.executor.at.Path(x.request.Model); err != nil {
			return "", nil, err
		}
	}
	body, err = x.plan.encodeBody()
	return path, body, err
}

// planRequest decides how a request is sent.
func (e *Executor) planRequest(req *model.Request, c concessions) (*plan, error) {
	p := &plan{cached: req.Cache}
	if p.params.Version = e.at.Version; p.params.Version == "" {
		p.params.Model, p.params.ServiceTier = req.Model, req.ServiceTier
	}
	p.params.Stop = req.Stop
	var err error
	if wantsAnswer(req) {
		if p.params.OutputConfig.Format = newForm(req, c); p.params.OutputConfig.Format == nil {
			if p.report, err = newReport(req); err != nil {
				return nil, err
			}
		}
	}
	if p.tools, err = e.tools.Encoded(req.Tools); err != nil {
		return nil, err
	}
	w := writer{forgetReasoning: c.forgetReasoning}
	if err := w.writeConversation(req.Messages); err != nil {
		return nil, err
	}
	p.params.System, p.params.Messages = w.system, w.messages
	p.chooseTools(req, c)
	p.planThinking(req, c, e.maxOutputTokens)
	p.setSampling(req, c)
	if p.cached {
		p.markCached()
	}
	return p, nil
}

// Concede avoids the feature for which the request was rejected, and remembers it.
func (x *exchange) Concede(refusal *model.Error) (more bool) {
	if x.granted, more = x.granted.afterRefusal(refusal, x.plan); more {
		x.executor.known.Remember(x.request.Model, x.granted.ofModel())
	}
	return more
}

// Translator returns the translator for the answer to the plan.
func (x *exchange) Translator() vendorhttp.Translator { return newAnswer(x.plan.report) }
