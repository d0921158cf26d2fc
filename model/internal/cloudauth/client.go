// Package cloudauth obtains credentials for cloud APIs, such as tokens.
package cloudauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// metadataTimeout is the maximum time for a metadata server on the same machine to accept a
// connection. Elsewhere nothing answers at its address.
const metadataTimeout = 2 * time.Second

// MetadataTransport returns the transport to servers of the machine's own cloud. It uses no proxy,
// because their addresses are only meaningful on this machine.
var MetadataTransport = sync.OnceValue(func() http.RoundTripper {
	t := vendorhttp.NewTransport()
	t.Proxy = nil
	t.DialContext = (&net.Dialer{Timeout: metadataTimeout}).DialContext
	return t
})

// Client requests credentials from a server. It follows no redirect.
type Client struct {
	// What names the server's result in messages: "a token of Entra ID".
	What string
	// Transport reaches the server.
	Transport http.RoundTripper
	// Code returns the vendor's code in the body of an error; empty if none.
	Code func(body []byte) string
}

// answerLimit is the maximum number of bytes read from an answer.
const answerLimit = 64 << 10

// Fetch returns the body of a successful answer. An error is a *model.Error that reveals only the
// vendor's code from the answer.
func (c *Client) Fetch(req *http.Request) ([]byte, error) {
	res, err := c.Transport.RoundTrip(req)
	if err != nil {
		return nil, c.connectionError(req.Context(), err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, answerLimit))
	if err != nil {
		return nil, c.connectionError(req.Context(), err)
	}
	if res.StatusCode == http.StatusOK {
		return body, nil
	}
	return nil, c.refusal(res.StatusCode, body)
}

func (c *Client) connectionError(ctx context.Context, err error) error {
	class := model.Provider
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || ctx.Err() != nil {
		class = model.Timeout
	}
	return &model.Error{Class: class, Message: fmt.Sprintf("get %s: no answer: %v", c.What, err), Err: err}
}

// refusal returns the error for an unsuccessful answer.
func (c *Client) refusal(status int, body []byte) error {
	class, known := vendorhttp.StatusClass(status)
	switch {
	case known:
	case status >= http.StatusInternalServerError:
		class = model.Provider
	default:
		class = model.Unauthorized
	}
	text := fmt.Sprintf("get %s: the server answers %d", c.What, status)
	if code := PrintableCode(c.Code(body)); code != "" {
		text += ": " + code
	}
	return &model.Error{Class: class, Message: text, Status: status}
}

// Invalid returns the error for an invalid answer or file.
func (c *Client) Invalid(what string) error {
	return &model.Error{Class: model.Unauthorized, Message: fmt.Sprintf("get %s: %s", c.What, what)}
}

// codeLimit is the maximum length of a displayed code, in bytes.
const codeLimit = 80

// PrintableCode returns a code without characters that could alter its display.
func PrintableCode(code string) string {
	shown := make([]byte, 0, min(len(code), codeLimit))
	for i := 0; i < len(code) && len(shown) < codeLimit; i++ {
		if ' ' <= code[i] && code[i] <= '~' {
			shown = append(shown, code[i])
		}
	}
	return string(shown)
}

// NewForm returns a request that posts a form.
func NewForm(ctx context.Context, address string, form url.Values) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Accept", "application/json")
	}
	return req, err
}

// NewGet returns a request with one additional header.
func NewGet(ctx context.Context, address, name, value string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err == nil {
		req.Header.Set(name, value)
	}
	return req, err
}

// FetchText returns the answer to a request with one additional header, which may be empty.
func (c *Client) FetchText(ctx context.Context, method, address, header, value string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return "", c.Invalid("the address is not a URL")
	}
	if value != "" {
		req.Header.Set(header, value)
	}
	body, err := c.Fetch(req)
	return string(body), err
}

// FetchToken returns the token in an answer and its expiry time.
func (c *Client) FetchToken(req *http.Request) (token string, expiry time.Time, err error) {
	body, err := c.Fetch(req)
	if err != nil {
		return "", time.Time{}, err
	}
	var answer struct {
		AccessToken string            `json:"access_token"`
		ExpiresIn   vendorhttp.Number `json:"expires_in"`
		ExpiresOn   vendorhttp.Number `json:"expires_on"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.AccessToken == "" {
		return "", time.Time{}, c.Invalid("the answer has no access_token")
	}
	switch {
	case answer.ExpiresIn > 0:
		expiry = time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second)
	case answer.ExpiresOn > 0:
		expiry = time.Unix(int64(answer.ExpiresOn), 0)
	}
	return answer.AccessToken, expiry, nil
}

// Bearer authorizes requests with the tokens that fetch returns.
func Bearer(fetch func(context.Context) (token string, expiry time.Time, err error)) vendorhttp.Authorize {
	tokens := credential.NewCached(fetch)
	return func(ctx context.Context) (vendorhttp.Authorization, error) {
		token, err := tokens.Get(ctx)
		if err != nil {
			return vendorhttp.Authorization{}, err
		}
		return vendorhttp.Authorization{
			Headers: map[string]string{"Authorization": "Bearer " + token},
			Refused: tokens.Drop,
		}, nil
	}
}
