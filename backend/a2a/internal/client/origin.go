package client

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
)

// Origin returns the scheme, host and port of a URL in canonical form for comparison.
func Origin(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port)
}

// ShownOrigin returns an origin in its usual spelling.
func ShownOrigin(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
	return shown.String()
}

// trusted are the configured origins: only these may serve interfaces and receive credentials.
type trusted map[string]bool

// trustedOrigins returns the origins of an endpoint and its options.
func trustedOrigins(e *spec.Endpoint, o *Options) trusted {
	t := trusted{}
	for _, text := range append([]string{e.BaseURL}, o.allowOrigins...) {
		if u, err := url.Parse(text); err == nil {
			t[Origin(u)] = true
		}
	}
	return t
}

// has reports whether a URL has one of the origins.
func (t trusted) has(u *url.URL) bool { return t[Origin(u)] }

// NamesMachine reports whether a configured host is this machine or an address, so that a private
// address is intended.
func NamesMachine(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// newGuard returns the guard of an endpoint: it allows public addresses, the hosts in
// allow_private, and the hosts of configured URLs that are meant to be private, at their ports.
func newGuard(e *spec.Endpoint, o *Options) (*netguard.Guard, error) {
	allow := append([]string(nil), o.allowPrivate...)
	written := append([]string{e.BaseURL, o.Card.URL, o.Card.List}, o.allowOrigins...)
	if e.Auth != nil {
		written = append(written, e.Auth.TokenURL)
	}
	for _, text := range written {
		u, err := url.Parse(text)
		if err == nil && u.IsAbs() && NamesMachine(u.Hostname()) {
			allow = append(allow, strings.TrimPrefix(Origin(u), u.Scheme+"://"))
		}
	}
	return netguard.New(allow...)
}
