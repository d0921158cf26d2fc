package a2a

import (
	"cmp"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/netguard"
)

// public allows only public addresses.
var public netguard.Guard

// The bounds of a push configuration, in bytes.
const (
	maxPushURL        = 2 << 10
	maxPushCredential = 8 << 10
	maxPushScheme     = 64
)

// checkURL reports a URL that must not receive notifications: they are sent by https, by http only
// to hosts allowed by name or address, and never to other private addresses.
func (s *PushSender) checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return newInvalidParams("the push configuration has no url")
	case err != nil || len(text) > maxPushURL || u.Opaque != "" || u.Hostname() == "":
		return newInvalidParams("the url of the push configuration must be an absolute URL of at most %d bytes", maxPushURL)
	case u.User != nil || u.Fragment != "":
		return newInvalidParams("the url of the push configuration has a password or a fragment: use authentication instead")
	}
	host := u.Hostname()
	number, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443"), 10, 16)
	if err != nil {
		return newInvalidParams("the url of the push configuration has no valid port")
	}
	port := uint16(number)
	switch {
	case u.Scheme == "http" && !s.allowsHost(host, port), u.Scheme != "http" && u.Scheme != "https":
		return newInvalidParams("the url of the push configuration must be https")
	case isUnusualAddress(host):
		return newInvalidParams("the url of the push configuration has an address in an unusual form: write it as 192.0.2.1 or [2001:db8::1]")
	case s.refusesHost(host, port):
		return newInvalidParams("the url of the push configuration leads to a private network")
	}
	return nil
}

// allowsHost reports whether the settings allow a host, by name or address.
func (s *PushSender) allowsHost(host string, port uint16) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		// A private address that no entry has: only the name can allow it.
		addr = netip.AddrFrom4([4]byte{0, 0, 0, 1})
	}
	to := netip.AddrPortFrom(addr, port)
	return public.Check(host, to) != nil && s.guard.Check(host, to) == nil
}

// refusesHost reports whether a host is private as written. Names are checked when they are
// resolved.
func (s *PushSender) refusesHost(host string, port uint16) bool {
	addr, err := netip.ParseAddr(host)
	if name := strings.ToLower(strings.TrimSuffix(host, ".")); err != nil && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		addr, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	return err == nil && s.guard.Check(host, netip.AddrPortFrom(addr, port)) != nil
}

// isUnusualAddress reports whether resolvers may treat a host as an address in an unusual form:
// 127.1, 0x7f000001 and 2130706433 are 127.0.0.1 to them.
func isUnusualAddress(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}
