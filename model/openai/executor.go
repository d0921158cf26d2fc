// Package openai calls models through the OpenAI API: the Responses API, and Chat Completions,
// which most other vendors and local servers imitate. It encodes requests and decodes streams
// itself, because the SDK's types cost several times as much and know only OpenAI's own output;
// the SDK's client would add 38 MB to the binary. Only tests use the SDK.
package openai

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// Executor calls the models of one provider. It is safe for concurrent use.
type Executor struct {
	vendorhttp.Base
	api     *vendorhttp.API
	dialect dialect
	tools   *vendorhttp.ToolCache[[]byte]
	// shortTools has short descriptions.
	shortTools *vendorhttp.ToolCache[[]byte]
	// maybeLocal is set if LM Studio, Ollama or llama.cpp may serve the models.
	maybeLocal bool
	// unknownPath is the message for a server that does not know the path of the API.
	unknownPath string
	// path returns the request path for a model, relative to the base URL.
	path  func(model string) (string, error)
	known vendorhttp.Concessions[concessions]
	// ids describes the call IDs that the server accepts.
	ids callIDs
	// unsupported are the parameters that requests do not support.
	unsupported []string
}

var (
	_ model.Executor     = (*Executor)(nil)
	_ model.Vendor       = (*Executor)(nil)
	_ catalog.Listed     = (*Executor)(nil)
	_ model.FieldLearner = (*Executor)(nil)
	_ model.ToolAdapter  = (*Executor)(nil)
	_ model.LimitSource  = (*Executor)(nil)
)

// peerOf returns the recipient of a request, after concessions.
func (e *Executor) peerOf(c concessions) peer {
	to := peer{provider: e.api.Provider(), ids: e.ids, needsText: c.needsText}
	switch {
	case c.mistralIDs:
		to.ids = mistralIDs
	case c.shortIDs:
		to.ids = e.dialect.vendorIDs
	}
	return to
}

// Kind returns the provider type openai.
func Kind() model.ProviderKind {
	return vendorhttp.NewKind("openai", "OpenAI and servers compatible with its API.", New)
}

// New returns an executor. It makes no request; a configuration without a key is valid until the
// server requires one.
func New(settings model.Settings, c *Config) (*Executor, error) {
	return NewAt(settings, c, vendorhttp.Endpoint{}, vendorhttp.SharedTransport())
}

// NewAt is New for models at another vendor's endpoint. Empty fields of the endpoint default to the
// vendor's own.
func NewAt(settings model.Settings, c *Config, at vendorhttp.Endpoint, transport http.RoundTripper) (*Executor, error) {
	c, err := vendorhttp.Configured(settings, c)
	if err != nil {
		return nil, err
	}
	e := &Executor{path: at.Path}
	if c.api() == ChatCompletions {
		e.dialect = chatDialect()
		e.unknownPath = " (check base_url: the path of most compatible servers ends in /v1)"
	} else {
		e.dialect = responsesDialect(c.ReasoningSummary)
		e.unsupported = []string{"seed", "stop"}
		e.unknownPath = " (the server may not know api: responses; most compatible servers need api: chat_completions, and a base_url that ends in /v1)"
	}
	e.unsupported = append(e.unsupported, c.server().takes.Omit...)
	e.unknownPath = cmp.Or(at.UnknownPath, e.unknownPath)
	e.maybeLocal = c.server().dialect == "ollama" || strings.HasPrefix(c.apiAccess().URL(), "http:")
	if e.path == nil {
		e.path = func(string) (string, error) { return e.dialect.path, nil }
	}
	e.dialect.schemas, e.ids = c.tools(), c.server().ids
	if c.isVendorsOwn() {
		e.ids = e.dialect.vendorIDs
	}
	e.tools = vendorhttp.NewToolCache(e.dialect.encodeTools)
	e.shortTools = vendorhttp.NewToolCache(e.dialect.encodeShortTools)
	e.api, err = c.apiAccess().NewAPI(transport, settings, vendorhttp.Protocol{
		Header: headersOf(c), Keys: cmp.Or(at.Keys, vendorKey), Refusal: e.readRefusal, Authorize: at.Authorize,
		Names: e.dialect.schemas.Names,
	})
	if err != nil {
		return nil, err
	}
	e.Base = vendorhttp.NewBase(cmp.Or(at.Vendor, vendorAt(c.apiAccess().URL())), e.api, func(req *model.Request) vendorhttp.Exchange {
		return &exchange{executor: e, request: req, granted: e.known.Of(req.Model)}
	})
	return e, nil
}

// vendorKey matches the vendor's keys, including masked ones.
var vendorKey = regexp.MustCompile(`\bsk-[\w*-]{8,}`)

// headersOf returns the headers of every request.
func headersOf(c *Config) http.Header {
	header := http.Header{}
	for name, value := range map[string]string{"OpenAI-Organization": c.Organization, "OpenAI-Project": c.Project} {
		if value != "" {
			header.Set(name, value)
		}
	}
	if c.APIKey != "" {
		header.Set("Authorization", "Bearer "+c.APIKey)
	}
	return header
}

// readRefusal returns the error for the body of a refusal, and reports whether the body contains a
// known error.
func (e *Executor) readRefusal(status int, body []byte) (failure *model.Error, known bool) {
	r := parseRefusal(body)
	if r == nil {
		r = &refusal{}
	}
	if r.status = status; status >= http.StatusBadRequest && r.message == "" {
		r.message = vendorhttp.ErrorText(body)
		if plain := vendorhttp.PlainError(body); r.message == "" && plain != "" {
			r.message = strings.TrimPrefix(http.StatusText(status)+": "+plain, ": ")
		}
	}
	failure = r.modelError()
	if failure.Class == model.InvalidRequest && r.param == "" && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		failure.Message += e.unknownPath
	}
	return failure, !r.isEmpty()
}

// encodeRequest returns the whole body of a request.
func (e *Executor) encodeRequest(req *model.Request, c concessions) ([]byte, error) {
	body, err := e.dialect.encode(req, c, e.peerOf(c))
	if err != nil {
		return nil, err
	}
	body = append(body[:len(body)-1], `,"stream":true`...)
	if req.Output != nil && !c.noOutputForm {
		form, err := vendorhttp.EncodeRequest(e.dialect.describe(formOf(req.Output, c), req.Verbosity))
		if err != nil {
			return nil, err
		}
		body = append(append(append(body, `,"`...), e.dialect.output...), `":`...)
		body = append(body, form...)
	}
	if body, err = e.appendTools(body, req, c); err != nil {
		return nil, err
	}
	return append(body, '}'), nil
}

// appendTools appends the tools and the tool choice. It caches the encoded tools, because a
// conversation sends the same ones many times.
func (e *Executor) appendTools(body []byte, req *model.Request, c concessions) ([]byte, error) {
	choice := req.ToolChoice
	if c.freeChoice && choice.Mode == model.ToolsNone {
		return body, nil // no tools: the model cannot be stopped from calling
	}
	cache := e.tools
	if c.shortDescriptions {
		cache = e.shortTools
	}
	tools, err := cache.Encoded(req.Tools)
	if err != nil || len(tools) == 0 {
		return body, err
	}
	body = append(append(body, `,"tools":`...), tools...)
	if c.freeChoice || choice.Mode == model.ToolsAuto {
		return body, nil
	}
	var value any = choice.Mode
	if choice.Mode == model.ToolsNamed {
		value = e.dialect.named(choice.Name)
	}
	encoded, err := vendorhttp.EncodeRequest(value)
	if err != nil {
		return nil, err
	}
	return append(append(body, `,"tool_choice":`...), encoded...), nil
}

// exchange is one request.
type exchange struct {
	executor *Executor
	request  *model.Request
	granted  concessions
}

// Encode returns the request with the concessions so far.
func (x *exchange) Encode() (path string, body []byte, err error) {
	if path, err = x.executor.path(x.request.Model); err != nil {
		return "", nil, err
	}
	body, err = x.executor.encodeRequest(x.request, x.granted)
	return path, body, err
}

// Concede disables the feature for which the request was rejected.
func (x *exchange) Concede(refusal *model.Error) (more bool) {
	x.granted, more = x.granted.afterRefusal(refusal, x.request)
	return more
}

// Translator stores the concessions and returns the translator.
func (x *exchange) Translator() vendorhttp.Translator {
	x.executor.known.Remember(x.request.Model, x.granted.ofModel())
	return x.executor.dialect.translate(x.request, x.executor.api.Provider())
}

// ToolDialect returns the tool schemas that all models accept.
func (e *Executor) ToolDialect(string) model.ToolDialect { return e.dialect.schemas }

// CheckParams returns the parameters that the API does not support.
func (e *Executor) CheckParams(_ string, p *model.Params) []model.ParamFault {
	return p.MissingParams(e.unsupported...)
}
