// Package netguard keeps requests away from addresses that only the machine
// itself or its own network can reach: what looks like a public host may
// resolve to a metadata service, a database or a router.
//
// The decision falls when a connection is made, on the address that is really
// dialled. A check of the name or of an earlier lookup could be undone by a
// name server that answers differently the second time.
package netguard

import (
	"fmt"
	"net/netip"

	"github.com/agentruntime/agentruntime/internal/hostlist"
)

// Guard decides which addresses may be dialled: public ones, and those that
// its allow list names. The zero Guard allows public addresses only. A Guard is
// immutable and safe from many goroutines.
type Guard struct{ allowed hostlist.List }

// New returns a guard that allows public addresses and the given entries; see hostlist.Parse.
func New(allow ...string) (*Guard, error) {
	list, err := hostlist.Parse(allow...)
	if err != nil {
		return nil, err
	}
	return &Guard{*list}, nil
}

// Check returns a *BlockedError when the guard refuses connections to an
// address that was found under the name host. The host may be the address
// itself.
func (g *Guard) Check(host string, to netip.AddrPort) error {
	if hostlist.Classify(to.Addr()) == "" || g.allowed.Contains(host, to) {
		return nil
	}
	return &BlockedError{Host: host, Addr: to.Addr()}
}

// BlockedError reports that a guard refused an address.
type BlockedError struct {
	// Host is the name that was dialled; it may be the address itself.
	Host string
	// Addr is the address it resolved to. It is for logs: the client that named the
	// host must not learn how the network inside is numbered.
	Addr netip.Addr
}

// Error describes the rejected connection and the setting that permits it, without the address
// that a name resolved to.
func (e *BlockedError) Error() string {
	const fix = "add the host to allow_private to permit it"
	what := hostlist.Classify(e.Addr)
	if what == "" {
		what = "an address outside of what is allowed" // an error made by hand
	}
	if e.Host == "" || e.Host == e.Addr.String() {
		return fmt.Sprintf("connecting to %s is refused: %s; %s", e.Addr, what, fix)
	}
	return fmt.Sprintf("connecting to %s is refused: it leads to %s; %s", e.Host, what, fix)
}
