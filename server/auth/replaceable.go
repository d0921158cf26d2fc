package auth

import (
	"net/http"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/server"
)

// Replaceable is an Authenticator that can be replaced while requests arrive. Use NewReplaceable to
// create one.
type Replaceable struct {
	current atomic.Pointer[server.Authenticator]
}

var _ server.Authenticator = (*Replaceable)(nil)

// NewReplaceable returns an authenticator that delegates to first.
func NewReplaceable(first server.Authenticator) *Replaceable {
	r := new(Replaceable)
	r.Replace(first)
	return r
}

// Replace replaces the authenticator. Requests in progress keep their result.
func (r *Replaceable) Replace(next server.Authenticator) { r.current.Store(&next) }

// Authenticate delegates to the current authenticator.
func (r *Replaceable) Authenticate(req *http.Request) (*server.Principal, error) {
	return (*r.current.Load()).Authenticate(req)
}
