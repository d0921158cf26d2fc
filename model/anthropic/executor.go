// Package anthropic asks models through the Anthropic Messages API, by way of
// the vendor's SDK.
package anthropic

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// Executor asks the models of one provider. It is safe for use from many
// goroutines.
type Executor struct {
	client   sdk.Client
	failures vendorhttp.Failures
	tools    *vendorhttp.ToolCache[[]byte]
	// maxOutputTokens limits the answers to requests that set no limit.
	maxOutputTokens int
	// known holds, by model name, the concessions that a model was found to
	// need. Model names come from the configuration, so it stays small.
	known sync.Map
}

var (
	_ model.Executor = (*Executor)(nil)
	_ model.Vendor   = (*Executor)(nil)
)

// Vendor returns anthropic.
func (*Executor) Vendor() string { return "anthropic" }

// vendorKey matches the vendor's keys, also where only their ends are shown.
var vendorKey = regexp.MustCompile(`\bsk-[\w*-]{8,}`)

// messagesPath is where a request goes, below the base URL.
const messagesPath = "v1/messages"

// Kind returns the provider type anthropic.
func Kind() model.ProviderKind {
	return vendorhttp.NewKind("anthropic", "Anthropic and gateways that speak its Messages API.", New)
}

// New returns an executor. It does not reach out; a configuration without a
// key is fine until the server asks for one.
func New(settings model.Settings, c *Config) (*Executor, error) {
	return newExecutor(settings, c, vendorhttp.SharedTransport())
}

func newExecutor(settings model.Settings, c *Config, transport http.RoundTripper) (*Executor, error) {
	c, err := vendorhttp.Configured(settings, c)
	if err != nil {
		return nil, err
	}
	e := &Executor{
		failures:        c.apiAccess().Failures(settings, vendorKey),
		tools:           vendorhttp.NewToolCache(encodeTools),
		maxOutputTokens: c.maxOutputTokens(),
	}
	// The SDK's own constructor would take keys, URLs and headers from the
	// environment of the process; here the configuration alone decides.
	e.client = sdk.Client{Options: e.clientOptions(c, transport)}
	return e, nil
}

func (e *Executor) clientOptions(c *Config, transport http.RoundTripper) []option.RequestOption {
	options := []option.RequestOption{
		option.WithBaseURL(c.apiAccess().URL()),
		option.WithHTTPClient(vendorhttp.NewClient(transport)),
		option.WithMaxRetries(0),      // retrying is the runtime's business
		option.WithoutOpenTelemetry(), // and so is tracing
		option.WithHeader("Accept", "text/event-stream"),
		option.WithMiddleware(e.checkResponse),
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		options = append(options, option.WithHeader(name, c.Headers[name]))
	}
	return options
}

// checkResponse turns every answer that is no stream into an error, before
// the SDK.
func (e *Executor) checkResponse(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	return vendorhttp.CheckStream(res, func(res *http.Response, body []byte) *model.Error {
		return e.failures.Named(refusalError(res, body, time.Now()))
	})
}

// Stream asks the model and returns its answer as it comes.
func (e *Executor) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		a := &attempt{executor: e, caller: ctx}
		a.ctx, a.cancel = context.WithCancel(ctx)
		defer a.cancel()
		answer, err := a.sendRequest(req)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		defer func() { _ = a.response.Body.Close() }()
		a.readStream(answer, yield)
	}
}
