// Package runsclient is a client of the agent-runs protocol for tests, written solely from the
// protocol's description. It imitates each published SDK where they differ, and rejects answers
// that any of them could not handle.
package runsclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// SDK is the SDK that a client imitates.
type SDK string

// The SDKs.
const (
	// Go posts no result for an empty tool result, and treats a result without a subtype as a
	// success.
	Go SDK = "go"
	// TypeScript sends its tools with every message of a session, and posts an error if a result
	// was rejected.
	TypeScript SDK = "typescript"
	// Python sends its tools with every message, runs up to four concurrently, reads payloads from
	// either place, and continues without an answer.
	Python SDK = "python"
)

// SDKs lists all SDKs.
var SDKs = []SDK{Go, TypeScript, Python}

// defaultPause is the client's pause after a connection was reset.
const defaultPause = 500 * time.Millisecond

// Options are a client's identity and its server.
type Options struct {
	// URL is the server's URL. Workspace is the workspace of the credential.
	URL, Workspace string
	// Key is an API key or an access token. Tokens replaces it.
	Key    string
	Tokens *TokenSource
	// SDK defaults to Go.
	SDK SDK
	// Pause defaults to defaultPause.
	Pause time.Duration
	// HTTP defaults to http.DefaultClient.
	HTTP *http.Client
}

// Client is a client of one workspace. It is safe for concurrent use.
type Client struct{ o Options }

// New returns a client.
func New(o Options) *Client {
	o.URL = strings.TrimSuffix(o.URL, "/")
	o.SDK = cmp.Or(o.SDK, Go)
	o.Pause = cmp.Or(o.Pause, defaultPause)
	o.HTTP = cmp.Or(o.HTTP, http.DefaultClient)
	return &Client{o: o}
}

// Response is the response to a request.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Path returns the path of the parts below the workspace, each escaped as in the SDKs.
func (c *Client) Path(parts ...string) string {
	path := "/api/v1/workspaces/" + escapeText(c.o.Workspace)
	for _, p := range parts {
		path += "/" + escapeText(p)
	}
	return path
}

// escapeText encodes everything but letters, digits, "-", "_" and ".".
func escapeText(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Do sends a request and returns any response. A body of bytes is sent unchanged, any other as
// JSON; nil sends none.
func (c *Client) Do(ctx context.Context, method, path string, body any) (*Response, error) {
	resp, err := c.sendRequest(ctx, method, path, body, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, Body: data}, nil
}

// sendRequest sends a request. If it is rejected and there is a token source, it is repeated once
// with a new access token.
func (c *Client) sendRequest(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	data, ok := body.([]byte)
	if body != nil && !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	for refresh := false; ; refresh = true {
		req, err := http.NewRequestWithContext(ctx, method, c.o.URL+path, bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		req.Header = header.Clone()
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		key := c.o.Key
		if c.o.Tokens != nil {
			if key, err = c.o.Tokens.Token(ctx, refresh); err != nil {
				return nil, err
			}
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := c.o.HTTP.Do(req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || c.o.Tokens == nil || refresh {
			return resp, err
		}
		_ = resp.Body.Close()
	}
}

// callAPI sends a request and decodes the response, which must be JSON of the right types, or empty
// if nothing is expected. Any status other than success is an *Error.
func (c *Client) callAPI(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.Do(ctx, method, path, body)
	if err != nil {
		return err
	}
	if resp.Status/100 != 2 {
		return c.refusalError(resp)
	}
	if len(resp.Body) == 0 && into == nil {
		return nil
	}
	if into == nil {
		into = new(any)
	}
	if err := json.Unmarshal(resp.Body, into); err != nil {
		return fmt.Errorf("%s %s: the answer is %q: %w", method, path, resp.Body, err)
	}
	return nil
}
