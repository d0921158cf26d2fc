package mcp

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/netguard"
)

// guardAddresses limits the server and its token server to public addresses and the allowed ones.
// Resolved addresses are checked on each connection; a literal address is rejected now.
func (s *server) guardAddresses(allow []string) error {
	guard, err := netguard.New(allow...)
	if err != nil {
		return err
	}
	s.guard = guard
	s.transport = func() *http.Transport { return netguard.Transport(guard) }
	list := checkReach(guard, "url", s.config.URL)
	if s.config.Auth != nil {
		list = append(list, checkReach(guard, "auth.token_url", s.config.Auth.TokenURL)...)
	}
	return list.Err()
}

// checkReach reports a URL with a blocked host that needs no lookup.
func checkReach(guard *netguard.Guard, path, address string) diag.List {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return nil // the settings check reports it
	}
	port := 443
	if u.Scheme == "http" {
		port = 80
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		port = int(n)
	}
	hosts := []string{u.Hostname()}
	if strings.EqualFold(u.Hostname(), "localhost") {
		hosts = []string{"::1", "127.0.0.1"}
	}
	var refused error
	for _, host := range hosts {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return nil
		}
		if refused = guard.Check(u.Hostname(), netip.AddrPortFrom(addr, uint16(port))); refused == nil { //nolint:gosec // ParseUint bounds it
			return nil
		}
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s", refused).WithHint("the configuration must allow it under tenants.may.allow_private")}
}
