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
	"slices"
)

// Guard decides which addresses may be dialled: public ones, and those that
// its allow list names. The zero Guard allows public addresses only. A Guard is
// immutable and safe from many goroutines.
type Guard struct {
	names    []allowedName
	prefixes []allowedPrefix
}

// New returns a guard that allows, besides public addresses, what the entries
// name:
//
//   - a host name, as in "localhost": whatever it resolves to
//   - an IP address, as in "10.0.0.5" or "fd00::1", under any name
//   - a CIDR block, as in "10.0.0.0/8"
//   - the first two with a port, as in "localhost:8080" or "[::1]:8080", for
//     that port alone
func New(allow ...string) (*Guard, error) {
	g := &Guard{}
	for _, entry := range allow {
		if err := g.allow(entry); err != nil {
			return nil, fmt.Errorf("allow %q: %w", entry, err)
		}
	}
	return g, nil
}

// Check returns a *BlockedError when the guard refuses connections to an
// address that was found under the name host. The host may be the address
// itself.
func (g *Guard) Check(host string, to netip.AddrPort) error {
	if classify(to.Addr()) == "" || g.allows(host, to) {
		return nil
	}
	return &BlockedError{Host: host, Addr: to.Addr()}
}

func (g *Guard) allows(host string, to netip.AddrPort) bool {
	if !to.Addr().IsValid() {
		return false
	}
	// Contains matches no address that has a zone, or is IPv4 written as IPv6.
	addr := to.Addr().Unmap().WithZone("")
	if slices.ContainsFunc(g.prefixes, func(p allowedPrefix) bool {
		return p.port.matches(to.Port()) && p.prefix.Contains(addr)
	}) {
		return true
	}
	if len(g.names) == 0 {
		return false
	}
	host = foldName(host)
	return slices.ContainsFunc(g.names, func(n allowedName) bool {
		return n.port.matches(to.Port()) && n.name == host
	})
}

// BlockedError says that a guard refused an address.
type BlockedError struct {
	// Host is the name that was dialled; it may be the address itself.
	Host string
	// Addr is the address it resolved to. It is for logs: whoever named the host
	// is not to find out how the network inside is numbered.
	Addr netip.Addr
}

// Error says what was refused and which setting permits it, without the address
// that a name resolved to.
func (e *BlockedError) Error() string {
	const fix = "add the host to allow_private to permit it"
	what := classify(e.Addr)
	if what == "" {
		what = "an address outside of what is allowed" // an error made by hand
	}
	if e.Host == "" || e.Host == e.Addr.String() {
		return fmt.Sprintf("connecting to %s is refused: it is %s; %s", e.Addr, what, fix)
	}
	return fmt.Sprintf("connecting to %s is refused: it leads to %s; %s", e.Host, what, fix)
}
