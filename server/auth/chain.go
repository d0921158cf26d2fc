package auth

import (
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/server"
)

// Chain asks several authenticators in order. The first one that recognizes the credential
// decides, even if it rejects it.
type Chain []server.Authenticator

var _ server.Authenticator = (Chain)(nil)

// Authenticate returns the result of the first authenticator that recognizes the credential.
func (a Chain) Authenticate(r *http.Request) (*server.Principal, error) {
	var last error = &server.CredentialError{Unknown: true, Problem: "no credential is accepted"}
	for _, one := range a {
		principal, err := one.Authenticate(r)
		if bad, ok := errors.AsType[*server.CredentialError](err); !ok || !bad.Unknown {
			return principal, err
		}
		last = err
	}
	return nil, last
}
