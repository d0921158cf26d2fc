package vendorhttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"

	"github.com/agentruntime/agentruntime/internal/toolname"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/catalog"
)

// API sends requests to the API of one provider. It is safe for use from many
// goroutines.
type API struct {
	client   *http.Client
	base     *url.URL
	header   http.Header
	failures Failures
	protocol Protocol
	access   *Access
	// granted authorizes the requests of one call.
	granted Authorization
	// names are the names of tool sets that the server does not accept as they are.
	names  *ToolCache[*wireNames]
	logger *slog.Logger
	// rejected are the optional fields that the server is known to reject.
	rejected *RejectedFields
}

// Protocol describes the differences between vendors' APIs, apart from the contents of requests
// and answers.
type Protocol struct {
	// Header is sent with every request.
	Header http.Header
	// Keys matches the keys of the vendor, also where only their ends are shown.
	Keys *regexp.Regexp
	// Refusal returns the error that the body of a refusal amounts to, and reports
	// whether the body is an error in a form that the vendor or an imitator uses.
	Refusal func(status int, body []byte) (failure *model.Error, known bool)
	// Refine completes the error of a refusal by its headers; nil if they say nothing.
	Refine func(failure *model.Error, header http.Header)
	// Accept is the media type of a stream; server-sent events when empty.
	Accept string
	// Names is the rule for tool names.
	Names toolname.Rule
	// Framing is how the server ends events and streams.
	Framing Framing
	// Authorize is set where a fixed header does not show who asks.
	Authorize Authorize
}

// NewAPI returns the configured API. The configured headers replace the protocol's.
func (a *Access) NewAPI(transport http.RoundTripper, settings model.Settings, p Protocol) (*API, error) {
	base, err := parseBase(a.URL())
	if err != nil {
		return nil, fmt.Errorf("create provider %s: parse the base URL: %w", settings.ID, err)
	}
	header := p.Header.Clone()
	header.Set("Accept", cmp.Or(p.Accept, "text/event-stream"))
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "agentruntime")
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	return &API{
		client:   newClient(transport),
		base:     base,
		header:   header,
		failures: Failures{Provider: settings.ID, Redactor: newRedactor(a.APIKey, a.Headers, p.Keys)},
		protocol: p,
		access:   a,
		names:    NewToolCache(func(tools []model.Tool) (*wireNames, error) { return newWireNames(p.Names, tools), nil }),
		logger:   cmp.Or(settings.Logger, slog.New(slog.DiscardHandler)),
		rejected: rejectedFieldsOf(settings.ID + "\n" + a.URL()),
	}, nil
}

// RejectedFields returns the optional fields that the server was found to reject.
func (a *API) RejectedFields() []string { return a.rejected.Names() }

// Provider returns the ID of the provider.
func (a *API) Provider() string { return a.failures.Provider }

// Key identifies the provider and its server within the process.
func (a *API) Key() string { return a.failures.Provider + "\n" + a.access.URL() }

// CredentialKey identifies the provider, its server and the configured credentials within the process.
func (a *API) CredentialKey() string {
	sum := sha256.Sum256(fmt.Append(nil, a.header))
	return a.Key() + "\n" + hex.EncodeToString(sum[:])
}

// CatalogVendor returns the catalog's name of the vendor that is asked; empty for a server
// that is not known.
func (a *API) CatalogVendor() string { return catalog.VendorOf(a.base.Hostname()) }

// newRequest returns the request with a body to a path relative to the base URL.
func (a *API) newRequest(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	address, err := a.base.Parse(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = a.header.Clone()
	if a.granted.Sign != nil {
		err = a.granted.Sign(req, body)
	}
	return req, err
}

// send returns the answer to a request, whose body is a stream that the caller
// closes and that is limited. Any other answer is an error.
func (a *API) send(req *http.Request) (*http.Response, error) {
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	a.noteRefusal(res.StatusCode)
	decodeBody(res)
	res.Body = limitStream(res.Body, model.ActivityReporter(req.Context()))
	if body, refused := readRefusal(res); refused {
		return nil, a.refusalError(res, body)
	}
	return res, nil
}
