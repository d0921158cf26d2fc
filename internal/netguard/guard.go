// Package netguard blocks requests to addresses that only the machine itself or its own network can
// reach: an apparently public host may resolve to a metadata service, a database or a router.
//
// It decides when a connection is made, on the address actually dialed. A name server that answers
// differently the second time could defeat a check of the name or of an earlier lookup.
package netguard

import (
	"fmt"
	"net/netip"

	"github.com/agentruntime/agentruntime/internal/hostlist"
)

// Guard decides which addresses may be dialed: public ones, and those in its allow list. The zero
// Guard allows public addresses only. A Guard is immutable and safe for concurrent use.
type Guard struct{ allowed hostlist.List }

// New returns a guard that allows public addresses and the given entries; see hostlist.Parse.
func New(allow ...string) (*Guard, error) {
	list, err := hostlist.Parse(allow...)
	if err != nil {
		return nil, err
	}
	return &Guard{*list}, nil
}

// Check returns a *BlockedError if the guard rejects connections to an address to which host
// resolved. The host may be the address itself.
func (g *Guard) Check(host string, to netip.AddrPort) error {
	if hostlist.Classify(to.Addr()) == "" || g.allowed.Contains(host, to) {
		return nil
	}
	return &BlockedError{Host: host, Addr: to.Addr()}
}

// BlockedError reports an address rejected by a guard.
type BlockedError struct {
	// Host is the dialed name; it may be the address itself.
	Host string
	// Addr is the address to which it resolved. It is for logs: the client that named the host must
	// not learn the addresses of the internal network.
	Addr netip.Addr
}

// Error describes the rejected connection and the setting that permits it, without the address
// that a name resolved to.
func (e *BlockedError) Error() string {
	const fix = "add the host to allow_private to permit it"
	what := hostlist.Classify(e.Addr)
	if what == "" {
		what = "an address outside of what is allowed" // a hand-built error
	}
	if e.Host == "" || e.Host == e.Addr.String() {
		return fmt.Sprintf("connecting to %s is refused: %s; %s", e.Addr, what, fix)
	}
	return fmt.Sprintf("connecting to %s is refused: it leads to %s; %s", e.Host, what, fix)
}
