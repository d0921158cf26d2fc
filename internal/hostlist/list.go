// Package hostlist holds lists of hosts and networks, and distinguishes public addresses from all
// others. It opens no connections: package netguard does.
package hostlist

import (
	"fmt"
	"net/netip"
	"slices"
)

// List is a set of host names and networks, each with or without a port. The zero List is empty. A
// List is immutable and safe for concurrent use.
type List struct {
	names    []hostName
	prefixes []addressBlock
}

// Parse returns the list of entries, each of which is
//
//   - a host name, as in "localhost": whatever it resolves to
//   - an IP address, as in "10.0.0.5" or "fd00::1", under any name
//   - a CIDR block, as in "10.0.0.0/8"
//   - the first two with a port, as in "localhost:8080" or "[::1]:8080", for
//     that port alone
func Parse(entries ...string) (*List, error) {
	l := &List{}
	for _, entry := range entries {
		if err := l.addEntry(entry); err != nil {
			return nil, fmt.Errorf("allow %q: %w", entry, err)
		}
	}
	return l, nil
}

// Contains reports whether the list names the host, or the address to which it resolved. The host
// may be the address itself.
func (l *List) Contains(host string, at netip.AddrPort) bool {
	if !at.Addr().IsValid() {
		return false
	}
	// Contains never matches an address with a zone or an IPv4-mapped one.
	addr := at.Addr().Unmap().WithZone("")
	if slices.ContainsFunc(l.prefixes, func(b addressBlock) bool {
		return b.port.matches(at.Port()) && b.prefix.Contains(addr)
	}) {
		return true
	}
	if len(l.names) == 0 {
		return false
	}
	host = foldName(host)
	return slices.ContainsFunc(l.names, func(n hostName) bool {
		return n.port.matches(at.Port()) && n.name == host
	})
}
