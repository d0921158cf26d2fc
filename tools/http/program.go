package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/connection"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/tools"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// program is a compiled configuration, in which everything that does not depend on the arguments is
// prepared.
type program struct {
	method  string
	effect  tools.Effect
	address *address
	query   []param
	headers []header
	body    *body
	// typ is the Content-Type of a body if the headers do not set it.
	typ string
	// used holds the names of all arguments that are used.
	used map[string]bool
	// secrets are the configured values that look like credentials.
	secrets [][]byte
	// connection has the headers of a connection of the host; nil if absent.
	connection *connection.Connection
	// hasTenant reports whether variables of the tenant are used.
	hasTenant bool
}

// compileProgram compiles the parts of the request. If the list has errors, the program must not
// be used.
func (c *config) compileProgram() (*program, diag.List) {
	p := &program{method: c.httpMethod(), effect: c.toolEffect(), used: make(map[string]bool)}
	var list, more diag.List
	p.address, list = c.compileURL()
	p.query, more = parseQuery(c.Query)
	list = append(list, more...)
	p.headers, more = parseHeaders(c.Headers)
	list = append(list, more...)
	if len(more) == 0 { // the body's form depends on the content type
		p.body, more = c.compileBody(findHeader(p.headers, contentType))
		list = append(list, more...)
	}
	if p.body != nil {
		p.typ = jsonType
	}
	declared := tools.DeclaredParameters(c.Parameters)
	// A schema without properties lets the model choose them.
	declared.Open = declared.Open || len(c.Parameters) > 0 && declared.Properties == nil
	for _, place := range p.placeholderPlaces() {
		list = append(list, declared.Check(place.path, place.names)...)
		maps.Copy(p.used, place.names)
	}
	p.secrets, p.hasTenant = longestFirst(secretTexts(p)), len(p.tenantReferences()) > 0
	return p, list
}

func (c *config) compileURL() (*address, diag.List) {
	if c.URL == "" {
		return &address{}, diag.List{diag.New(diag.MissingField, "url", "url is required")}
	}
	a, err := parseAddress(c.URL)
	if err != nil {
		return &address{}, diag.List{diag.New(diag.InvalidValue, "url", "%s", err)}
	}
	return a, nil
}

func parseQuery(values map[string]string) ([]param, diag.List) {
	var list diag.List
	params := make([]param, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p, err := parseParam(name, values[name])
		if strings.Contains(name, "{{") {
			err = errors.New("a placeholder may be in the value of a query parameter, not in its name")
		}
		if err != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Key("query", name), "%s", err))
			continue
		}
		params = append(params, p)
	}
	return params, list
}

func (c *config) compileBody(typ string) (*body, diag.List) {
	wrong := func(format string, args ...any) (*body, diag.List) {
		return nil, diag.List{diag.New(diag.InvalidValue, "body", format, args...)}
	}
	method := c.httpMethod()
	sends := method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
	switch {
	case len(c.Body) > 0 && (method == http.MethodGet || method == http.MethodHead):
		return wrong("a %s request has no body", method)
	case len(c.Body) > 0:
		b, err := parseBody(c.Body, typ)
		if err != nil {
			return wrong("%s", err)
		}
		return b, nil
	case !sends:
		return nil, nil
	}
	if media := mediaType(typ); !isJSON(media) {
		return wrong("the arguments are sent as JSON, but the header Content-Type says %s; write a body", media)
	}
	return &body{rest: true}, nil
}

// place is a setting that contains placeholders.
type place struct {
	path  string
	names map[string]bool
}

// placeholderPlaces returns the settings that have placeholders, in a fixed order.
func (p *program) placeholderPlaces() []place {
	var places []place
	add := func(path string, collect func(set map[string]bool)) {
		set := make(map[string]bool)
		if collect(set); len(set) > 0 {
			places = append(places, place{path, set})
		}
	}
	add("url", p.address.addNames)
	for i := range p.query {
		add(diag.Key("query", p.query[i].configured), p.query[i].value.addNames)
	}
	for i := range p.headers {
		add(diag.Key("headers", p.headers[i].configured), p.headers[i].value.addNames)
	}
	add("body", p.body.addNames)
	return places
}

// secretTexts returns the configured values that look like credentials. Servers repeat
// requests in error pages and debug output, which must not carry a secret to the model.
func secretTexts(p *program) []string {
	var texts []string
	add := func(name string, value template, unescape func(string) (string, error)) {
		if !namesCredential(name) {
			return
		}
		for i := range value {
			literal := value[i].literal
			// The scheme before the credential is not secret: "Bearer …".
			texts = append(texts, literal, literal[strings.LastIndexByte(literal, ' ')+1:])
			if plain, err := unescape(literal); err == nil {
				texts = append(texts, plain)
			}
		}
	}
	asIs := func(text string) (string, error) { return text, nil }
	for i := range p.headers {
		add(p.headers[i].name, p.headers[i].value, asIs)
	}
	for _, params := range [][]param{p.address.query, p.query} {
		for i := range params {
			add(params[i].key, params[i].value, url.QueryUnescape)
		}
	}
	return texts
}

// buildRequest makes the request of a call.
func (p *program) buildRequest(ctx context.Context, call *tools.Call) (*http.Request, error) {
	args, err := decodeArguments(call.Arguments)
	if err != nil {
		return nil, err
	}
	content, err := p.body.renderBody(args, p.used)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if content != nil {
		reader = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, p.method, p.address.base, reader)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if req.URL.RawPath, req.URL.RawQuery, err = p.address.renderURL(args, p.query); err != nil {
		return nil, err
	}
	if req.URL.Path, err = url.PathUnescape(req.URL.RawPath); err != nil {
		return nil, fmt.Errorf("make the path: %w", err)
	}
	if err := setHeaders(req.Header, p.headers, args); err != nil {
		return nil, err
	}
	if p.connection != nil {
		p.connection.SetHeaders(req.Header)
	}
	p.setOwnHeaders(req, call)
	setTrace(ctx, req.Header)
	return req, nil
}

// setOwnHeaders sets the headers that the configuration leaves to the runtime.
func (p *program) setOwnHeaders(req *http.Request, call *tools.Call) {
	setDefault := func(name, value string) {
		if _, ok := req.Header[name]; !ok && value != "" {
			req.Header[name] = []string{value}
		}
	}
	setDefault(userAgent, "agentruntime")
	setDefault(contentType, p.typ)
	if p.effect != tools.Read && httpguts.ValidHeaderFieldValue(call.IdempotencyKey) {
		setDefault(idempotencyKey, call.IdempotencyKey)
	}
	if p.effect == tools.Once {
		forbidReplay(req.Header)
	}
}

// setTrace adds the request to the trace of ctx, unless the configuration sets a trace header. It
// does not send baggage, which holds data of the callers, because the server may belong to anyone.
func setTrace(ctx context.Context, h http.Header) {
	if !trace.SpanContextFromContext(ctx).IsValid() || h["Traceparent"] != nil || h["Tracestate"] != nil {
		return
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
}

// forbidReplay prevents the HTTP client from resending a request on its own. The client considers
// requests with these headers repeatable, but the server decides that, and the tool's effect says
// otherwise. The client knows the headers only by their canonical spelling; servers ignore case.
func forbidReplay(h http.Header) {
	for _, name := range []string{idempotencyKey, "X-Idempotency-Key"} {
		if value, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = value
		}
	}
}

// longestSecret returns the length of the longest secret.
func (p *program) longestSecret() int {
	if len(p.secrets) == 0 {
		return 0
	}
	return len(p.secrets[0])
}

// redactSecrets returns text with the secrets replaced.
func (p *program) redactSecrets(text []byte) []byte {
	for _, secret := range p.secrets {
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, []byte(redact.Placeholder))
		}
	}
	return text
}
