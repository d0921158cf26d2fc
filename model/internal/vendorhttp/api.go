package vendorhttp

import (
	"cmp"
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

// API sends requests to the API of one provider. It is safe for concurrent use.
type API struct {
	client   *http.Client
	base     *url.URL
	header   http.Header
	failures failures
	protocol Protocol
	access   *Access
	// granted authorizes the requests of one call.
	granted Authorization
	// names are the names of tool sets that the server does not accept as they are.
	names  *ToolCache[*wireNames]
	logger *slog.Logger
	// rejected are the optional fields that the server is known to reject.
	rejected *rejectedFields
}

// Protocol describes the differences between vendors' APIs, except the contents of requests and
// responses.
type Protocol struct {
	// Header is sent with every request.
	Header http.Header
	// Keys matches the vendor's keys, including masked ones.
	Keys *regexp.Regexp
	// Refusal returns the error in the body of an error response, and reports whether the body has
	// a form that the vendor or an imitator uses.
	Refusal func(status int, body []byte) (failure *model.Error, known bool)
	// Refine completes the error of a refusal from its headers; nil if they add nothing.
	Refine func(failure *model.Error, header http.Header)
	// Accept is the media type of a stream; empty means server-sent events.
	Accept string
	// Names is the rule for tool names.
	Names toolname.Rule
	// Framing is how the server ends events and streams.
	Framing Framing
	// Authorize is set where a fixed header does not identify the caller.
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
		failures: failures{provider: settings.ID, redactor: newRedactor(a.APIKey, a.Headers, p.Keys)},
		protocol: p,
		access:   a,
		names:    NewToolCache(func(tools []model.Tool) (*wireNames, error) { return newWireNames(p.Names, tools), nil }),
		logger:   cmp.Or(settings.Logger, slog.New(slog.DiscardHandler)),
		rejected: rejectedFieldsOf(settings.ID + "\n" + a.URL()),
	}, nil
}

// parseBase returns a base URL whose path ends with a slash.
func parseBase(raw string) (*url.URL, error) {
	base, err := url.Parse(raw)
	if err == nil && (base.Path == "" || base.Path[len(base.Path)-1] != '/') {
		base = base.JoinPath("/")
	}
	return base, err
}

// RejectedFields returns the optional fields that the server was found to reject.
func (a *API) RejectedFields() []string { return a.rejected.list() }

// Provider returns the ID of the provider.
func (a *API) Provider() string { return a.failures.provider }

// Key identifies the provider and its server within the process.
func (a *API) Key() string { return a.failures.provider + "\n" + a.access.URL() }

// CredentialKey identifies the provider, its server and the configured credentials within the process.
func (a *API) CredentialKey() string {
	sum := sha256.Sum256(fmt.Append(nil, a.header))
	return a.Key() + "\n" + hex.EncodeToString(sum[:])
}

// CatalogVendor returns the catalog's name of the server's vendor; empty for an unknown server.
func (a *API) CatalogVendor() string { return catalog.VendorOf(a.base.Hostname()) }
