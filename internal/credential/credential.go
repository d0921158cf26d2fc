// Package credential authenticates requests to servers: it adds a token or key to requests, and
// replaces a token rejected by a server, once.
package credential

import (
	"context"
	"fmt"
	"net/http"
)

// Credential is added to requests. It is safe for concurrent use.
type Credential interface {
	// Set adds the credential to a request, and returns the value it set. It may call an
	// authorization server, within the request's context.
	Set(req *http.Request) (used string, err error)
	// Renew drops a credential that a server has rejected, and reports whether another one is
	// available.
	Renew(ctx context.Context, refused string) bool
}

// None adds nothing to requests.
func None() Credential { return none{} }

type none struct{}

// Set adds nothing to a request.
func (none) Set(*http.Request) (string, error) { return "", nil }

// Renew has nothing to renew.
func (none) Renew(context.Context, string) bool { return false }

// Bearer adds a fixed token to requests.
func Bearer(token string) Credential { return bearer(token) }

type bearer string

// Set adds the token to a request.
func (b bearer) Set(req *http.Request) (string, error) {
	setBearer(req, string(b))
	return string(b), nil
}

// Renew has no other token.
func (bearer) Renew(context.Context, string) bool { return false }

func setBearer(req *http.Request, token string) { req.Header.Set("Authorization", "Bearer "+token) }

// Place is the part of a request that carries a key.
type Place string

// The supported places.
const (
	Header Place = "header"
	Query  Place = "query"
	Cookie Place = "cookie"
)

// APIKey sets a key in a header, query parameter or cookie, replacing an existing value.
func APIKey(in Place, name, key string) Credential { return &apiKey{in: in, name: name, key: key} }

type apiKey struct {
	in        Place
	name, key string
}

// Set adds the key to a request.
func (k *apiKey) Set(req *http.Request) (string, error) {
	switch k.in {
	case Query:
		u := *req.URL
		query := u.Query()
		query.Set(k.name, k.key)
		u.RawQuery = query.Encode()
		req.URL = &u
	case Cookie:
		req.Header.Del("Cookie")
		req.AddCookie(&http.Cookie{Name: k.name, Value: k.key})
	default:
		req.Header.Set(k.name, k.key)
	}
	return k.key, nil
}

// Renew has no other key.
func (*apiKey) Renew(context.Context, string) bool { return false }

// RoundTrip makes a request with a credential through base. After a 401 response it renews the
// credential and repeats the request, once. It does not modify req.
func RoundTrip(base http.RoundTripper, c Credential, req *http.Request) (*http.Response, error) {
	first := req.Clone(req.Context())
	used, err := c.Set(first)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	resp, err := base.RoundTrip(first)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !isRepeatable(req) || !c.Renew(req.Context(), used) {
		return resp, err
	}
	_ = resp.Body.Close()
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, fmt.Errorf("repeat the request: %w", err)
		}
	}
	if _, err = c.Set(again); err != nil {
		closeBody(again)
		return nil, err
	}
	return base.RoundTrip(again)
}

// isRepeatable reports whether a request can be sent twice.
func isRepeatable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
