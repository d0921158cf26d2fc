package server

import (
	"net/http"
	"sync/atomic"
)

// Replaceable is an Authenticator that can be replaced while requests come in. It
// is made by NewReplaceable.
type Replaceable struct {
	current atomic.Pointer[Authenticator]
}

var _ Authenticator = (*Replaceable)(nil)

// NewReplaceable returns an authenticator that does what the first one does.
func NewReplaceable(first Authenticator) *Replaceable {
	r := new(Replaceable)
	r.Replace(first)
	return r
}

// Replace puts another authenticator in the place of the one before. Requests
// that are under way keep what they were told.
func (r *Replaceable) Replace(next Authenticator) { r.current.Store(&next) }

// Authenticate asks the current authenticator.
func (r *Replaceable) Authenticate(req *http.Request) (*Principal, error) {
	return (*r.current.Load()).Authenticate(req)
}
