package http

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Validate checks the record by itself, without network access. Paths are relative to the tool. The
// registry checks that parameters is a JSON Schema.
func (c *config) Validate() diag.List {
	list := c.checkChoices()
	p, more := c.compileProgram()
	list = append(list, more...)
	list = append(list, spec.CheckShorthand("parameters", c.Parameters)...)
	return append(list, c.checkAllowPrivate(p.address)...)
}

func (c *config) checkChoices() diag.List {
	var list diag.List
	switch c.httpMethod() {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD":
	default:
		list = append(list, diag.New(diag.InvalidValue, "method",
			"method is %q; allowed are GET, POST, PUT, PATCH, DELETE and HEAD", c.Method))
	}
	return append(list, tools.CheckSettings(c.toolEffect(), c.Timeout, tools.OutputLimit(c.MaxOutput))...)
}

// checkAllowPrivate checks the allow list, and that the URL's host is on the list if it is
// certainly not public. Otherwise every call would be rejected.
func (c *config) checkAllowPrivate(to *address) diag.List {
	var list diag.List
	for i, entry := range c.AllowPrivate {
		if _, err := hostlist.Parse(entry); err != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("allow_private", i), "%s", err))
		}
	}
	if to.host == "" || list.HasErrors() {
		return list
	}
	guard, err := netguard.New(c.AllowPrivate...)
	if err != nil {
		return list
	}
	refused := false
	for _, addr := range to.fixedAddrs() {
		if err = guard.Check(to.host, addr); err == nil {
			return list
		}
		refused = true
	}
	if refused {
		list = append(list, diag.New(diag.InvalidValue, "url", "%s", err).WithHint("allow_private: [%q]", to.host))
	}
	return list
}

// fixedAddrs returns the addresses of a host that needs no lookup.
func (a *address) fixedAddrs() []netip.AddrPort {
	port := uint64(443)
	if strings.HasPrefix(a.base, "http:") {
		port = 80
	}
	if n, err := strconv.ParseUint(a.port, 10, 16); err == nil {
		port = n
	}
	hosts := []string{a.host}
	if strings.EqualFold(a.host, "localhost") {
		hosts = []string{"::1", "127.0.0.1"}
	}
	var addrs []netip.AddrPort
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(host); err == nil {
			addrs = append(addrs, netip.AddrPortFrom(addr, uint16(port))) //nolint:gosec // ParseUint bounds it
		}
	}
	return addrs
}
