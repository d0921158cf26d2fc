// Package server answers HTTP requests: one router with one way of finding out
// who asks, for all the protocols that are mounted on it. What a protocol says
// is the business of its Surface; who may speak, how much, how fast and for how
// long is decided here.
package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/service"
)

// Principal is who a request comes from, and what it may use. It is not changed
// once it is made, and is safe for concurrent use.
type Principal struct {
	// Caller owns what the request makes, and sees what it made before, as far as it
	// may use the agents that made it. The router holds routes to its scopes, and the
	// service all else.
	Caller service.Caller
	// KeyID names the credential in logs, and is what rates are counted by; empty
	// where no credential is needed.
	KeyID string
}

// Authenticator finds out who a request comes from.
type Authenticator interface {
	// Authenticate returns who shows a credential. It neither reads the body nor
	// writes. A request without a credential that is good gives a
	// *CredentialError; any other error says that nobody can tell now. It is
	// called from many goroutines at once.
	Authenticate(r *http.Request) (*Principal, error)
}

// ErrForeignSite is the answer to a browser that sends what a page of somebody
// else's asks for, where no credential tells the two apart.
var ErrForeignSite = errors.New("the request comes from the page of another site")

// CredentialError says that a request shows no credential that is good.
type CredentialError struct {
	// Missing says that it shows none at all.
	Missing bool
	// Unknown says that the credential is of no kind that the authenticator knows,
	// so that another one may.
	Unknown bool
	// KeyID is the credential that is no longer good, when it is known.
	KeyID string
	// Problem is why, for the log. It does not hold the credential, and whoever
	// asks is not told.
	Problem string
}

// Error says why.
func (e *CredentialError) Error() string { return e.Problem }

// Challenge is the value of WWW-Authenticate that goes with the error.
func (e *CredentialError) Challenge() string {
	if e.Missing {
		return `Bearer realm="agentruntime"`
	}
	return `Bearer realm="agentruntime", error="invalid_token"`
}

type principalKey struct{}

// WithPrincipal returns ctx with who asks in it.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who asks. On a route that is not public there always is
// one.
func PrincipalFrom(ctx context.Context) (*Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(*Principal)
	return p, ok && p != nil
}
