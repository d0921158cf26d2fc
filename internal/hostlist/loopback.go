package hostlist

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether a host is localhost or an address of this machine's loopback network.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}
