package hostlist

import "net/netip"

// block is a range of addresses that is not the public Internet.
type block struct {
	prefix netip.Prefix
	// what describes an address of the block in a sentence.
	what string
}

func newBlock(prefix, what string) block {
	return block{netip.MustParsePrefix(prefix), what}
}

// blocks follows the IANA registries of special-purpose addresses. Nested blocks are listed
// narrowest first, so that the narrowest one determines the name.
var blocks = []block{
	newBlock("0.0.0.0/8", "an unspecified address"),
	newBlock("10.0.0.0/8", "a private address"),
	newBlock("100.64.0.0/10", "a carrier's shared address"),
	newBlock("127.0.0.0/8", "a loopback address"),
	newBlock("169.254.0.0/16", "a link-local address"), // metadata services live here
	newBlock("172.16.0.0/12", "a private address"),
	newBlock("192.0.0.0/24", "a reserved address"),
	newBlock("192.0.2.0/24", "a documentation address"),
	newBlock("192.88.99.0/24", "a 6to4 relay"),
	newBlock("192.168.0.0/16", "a private address"),
	newBlock("198.18.0.0/15", "a benchmarking address"),
	newBlock("198.51.100.0/24", "a documentation address"),
	newBlock("203.0.113.0/24", "a documentation address"),
	newBlock("224.0.0.0/4", "a multicast address"),
	newBlock("240.0.0.0/4", "a reserved address"),
	// Numerically public, but inside Azure it is the platform's own service.
	newBlock("168.63.129.16/32", "a cloud platform's own address"),

	newBlock("::/128", "an unspecified address"),
	newBlock("::1/128", "a loopback address"),
	newBlock("64:ff9b::/96", "an IPv4 address behind NAT64"),
	newBlock("64:ff9b:1::/48", "an IPv4 address behind NAT64"),
	newBlock("100::/64", "a discarded address"),
	newBlock("2001::/32", "a Teredo address"),
	newBlock("2001:2::/48", "a benchmarking address"),
	newBlock("2001::/23", "a reserved address"),
	newBlock("2001:db8::/32", "a documentation address"),
	newBlock("2002::/16", "a 6to4 address"),
	newBlock("3fff::/20", "a documentation address"),
	newBlock("fc00::/7", "a private address"),
	newBlock("fe80::/10", "a link-local address"),
	newBlock("fec0::/10", "a site-local address"),
	newBlock("ff00::/8", "a multicast address"),
}

// globalUnicast is the part of IPv6 from which public addresses are assigned. Addresses outside it
// are rejected even if no block names them.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// Classify describes a non-public address, such as "a private address", and returns "" for a
// public one.
func Classify(addr netip.Addr) string {
	if !addr.IsValid() {
		return "no address"
	}
	// ::ffff:a.b.c.d is dialed as a.b.c.d. Contains never matches an address with a zone.
	addr = addr.Unmap().WithZone("")
	for i := range blocks {
		if blocks[i].prefix.Contains(addr) {
			return blocks[i].what
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return "a reserved address"
	}
	return ""
}
