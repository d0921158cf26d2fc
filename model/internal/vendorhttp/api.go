package vendorhttp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// API sends requests to the API of one provider. It is safe for use from many
// goroutines.
type API struct {
	client  *http.Client
	base    *url.URL
	header  http.Header
	refusal func(*http.Response, []byte) *model.Error
}

// NewAPI returns the API that the settings name. Every request carries header and
// the configured headers, which win. refusal returns the error for an answer that
// is no stream.
func (a *Access) NewAPI(transport http.RoundTripper, header http.Header, refusal func(*http.Response, []byte) *model.Error) (*API, error) {
	base, err := url.Parse(a.URL())
	if err != nil {
		return nil, fmt.Errorf("parse the base URL: %w", err)
	}
	if !strings.HasSuffix(base.Path, "/") {
		base = base.JoinPath("/")
	}
	header = header.Clone()
	header.Set("Accept", "text/event-stream")
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "agentruntime")
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	return &API{client: NewClient(transport), base: base, header: header, refusal: refusal}, nil
}

// Post sends a body to a path below the base URL and returns the answer, whose
// body is a stream that the caller closes.
func (a *API) Post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	where, err := a.base.Parse(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, where.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = a.header.Clone()
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	return CheckStream(res, a.refusal)
}
