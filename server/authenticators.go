package server

import (
	"errors"
	"net/http"
)

// Authenticators asks several authenticators in their order. The first one that
// knows the credential decides: one that it finds bad is not shown to the next.
type Authenticators []Authenticator

var _ Authenticator = (Authenticators)(nil)

// Authenticate returns who the first authenticator that knows the credential says
// it is.
func (a Authenticators) Authenticate(r *http.Request) (*Principal, error) {
	var last error = &CredentialError{Unknown: true, Problem: "no credential is accepted"}
	for _, one := range a {
		principal, err := one.Authenticate(r)
		if bad, ok := errors.AsType[*CredentialError](err); !ok || !bad.Unknown {
			return principal, err
		}
		last = err
	}
	return nil, last
}
