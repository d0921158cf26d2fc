// Package server answers HTTP requests: one router authenticates the requests of all mounted
// protocols. A Surface implements a protocol; the server enforces scopes, sizes, rates and
// timeouts.
package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/service"
)

// Principal is the authenticated sender of a request, with its permissions. It is
// immutable and safe for concurrent use.
type Principal struct {
	// Caller owns the records that the request creates and sees those that it created earlier,
	// limited to agents that it may use. The router checks the scopes of routes, and the service
	// everything else.
	Caller service.Caller
	// KeyID identifies the credential in logs and for rate limits; empty if no credential is
	// required.
	KeyID string
	// AuthSource is how the sender was authenticated, for the audit log: api_key, jwt or oauth,
	// or local if no credential is required.
	AuthSource string
}

// Authenticator authenticates requests.
type Authenticator interface {
	// Authenticate returns the principal of the credential in a request. It neither reads the body
	// nor writes. Without a valid credential the error is a *CredentialError; any other error means
	// that the credential cannot be checked now. It is safe for concurrent use.
	Authenticate(r *http.Request) (*Principal, error)
}

// ErrForeignSite rejects a request that a browser sends for another site's page, on a server
// without credentials.
var ErrForeignSite = errors.New("the request comes from the page of another site")

// CredentialError means that a request has no valid credential.
type CredentialError struct {
	// Missing means that the request has no credential at all.
	Missing bool
	// Unknown means that the authenticator does not recognize this kind of credential, so another
	// one may.
	Unknown bool
	// KeyID identifies an expired or revoked credential, if it is known.
	KeyID string
	// Problem is the reason, for the log. It does not contain the credential, and
	// clients do not see it.
	Problem string
}

// Error returns the problem.
func (e *CredentialError) Error() string { return e.Problem }

// challenge returns the WWW-Authenticate value for the error.
func (e *CredentialError) challenge() string {
	if e.Missing {
		return `Bearer realm="agentruntime"`
	}
	return `Bearer realm="agentruntime", error="invalid_token"`
}

type principalKey struct{}

// WithPrincipal returns ctx with a principal.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the principal of a request. A route that is not public
// always has one.
func PrincipalFrom(ctx context.Context) (*Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(*Principal)
	return p, ok && p != nil
}
