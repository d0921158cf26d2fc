package netguard

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestOnlyPublicAddressesPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addr string
		want string // the error's text; empty if the address passes
	}{
		{"1.1.1.1", ""},
		{"8.8.8.8", ""},
		{"0.0.0.0", "unspecified"},
		{"0.255.255.255", "unspecified"},
		{"1.0.0.0", ""},
		{"9.255.255.255", ""},
		{"10.0.0.0", "private"},
		{"10.255.255.255", "private"},
		{"11.0.0.0", ""},
		{"100.63.255.255", ""},
		{"100.64.0.0", "carrier"},
		{"100.100.100.200", "carrier"},
		{"100.127.255.255", "carrier"},
		{"100.128.0.0", ""},
		{"126.255.255.255", ""},
		{"127.0.0.1", "loopback"},
		{"127.255.255.255", "loopback"},
		{"128.0.0.0", ""},
		{"168.63.129.15", ""},
		{"168.63.129.16", "cloud platform"},
		{"169.253.255.255", ""},
		{"169.254.0.0", "link-local"},
		{"169.254.169.254", "link-local"},
		{"169.255.0.0", ""},
		{"172.15.255.255", ""},
		{"172.16.0.0", "private"},
		{"172.31.255.255", "private"},
		{"172.32.0.0", ""},
		{"192.0.0.192", "reserved"},
		{"192.0.1.0", ""},
		{"192.0.2.1", "documentation"},
		{"192.88.99.1", "6to4"},
		{"192.167.255.255", ""},
		{"192.168.0.0", "private"},
		{"192.168.255.255", "private"},
		{"192.169.0.0", ""},
		{"198.17.255.255", ""},
		{"198.18.0.0", "benchmarking"},
		{"198.19.255.255", "benchmarking"},
		{"198.20.0.0", ""},
		{"198.51.100.7", "documentation"},
		{"203.0.113.7", "documentation"},
		{"223.255.255.255", ""},
		{"224.0.0.1", "multicast"},
		{"239.255.255.255", "multicast"},
		{"240.0.0.0", "reserved"},
		{"255.255.255.255", "reserved"},

		{"2606:4700:4700::1111", ""},
		{"2001:4860:4860::8888", ""},
		{"::", "unspecified"},
		{"::1", "loopback"},
		{"::2", "reserved"},
		{"::127.0.0.1", "reserved"}, // IPv4-compatible
		{"::8.8.8.8", "reserved"},
		{"::ffff:127.0.0.1", "loopback"}, // IPv4-mapped
		{"::ffff:10.0.0.1", "private"},
		{"::ffff:169.254.169.254", "link-local"},
		{"::ffff:8.8.8.8", ""},             // is dialed as 8.8.8.8
		{"::ffff:0:127.0.0.1", "reserved"}, // IPv4-translated
		{"64:ff9b::8.8.8.8", "NAT64"},
		{"64:ff9b::127.0.0.1", "NAT64"},
		{"64:ff9b:1::1", "NAT64"},
		{"100::1", "discarded"},
		{"1fff:ffff::1", "reserved"},
		{"2000::1", ""},
		{"2001::1", "Teredo"},
		{"2001:1::1", "reserved"},
		{"2001:2::1", "benchmarking"},
		{"2001:10::1", "reserved"},
		{"2001:20::1", "reserved"},
		{"2001:200::1", ""},
		{"2001:db8::1", "documentation"},
		{"2001:db9::1", ""},
		{"2002:7f00:1::1", "6to4"},
		{"2003::1", ""},
		{"3fff:fff::1", "documentation"},
		{"3fff:1000::1", ""},
		{"4000::1", "reserved"},
		{"5f00::1", "reserved"},
		{"fc00::1", "private"},
		{"fd00:ec2::254", "private"},
		{"fdff:ffff::1", "private"},
		{"fe80::1", "link-local"},
		{"fe80::1%eth0", "link-local"},
		{"::1%lo", "loopback"},
		{"febf::1", "link-local"},
		{"fec0::1", "site-local"},
		{"feff::1", "site-local"},
		{"ff02::1", "multicast"},
		{"ffff::1", "multicast"},
	} {
		var g Guard
		err := g.Check("host.example", netip.AddrPortFrom(netip.MustParseAddr(tt.addr), 443))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s is refused: %v", tt.addr, err)
		case tt.want != "" && err == nil:
			t.Errorf("%s passes, want a refusal that says %q", tt.addr, tt.want)
		case tt.want != "" && !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: error %q does not say %q", tt.addr, err, tt.want)
		}
	}
}

func TestNoAddressIsRefused(t *testing.T) {
	t.Parallel()
	g, err := New("0.0.0.0/0", "::/0", "host.example")
	if err != nil {
		t.Fatal(err)
	}
	if g.Check("host.example", netip.AddrPort{}) == nil {
		t.Error("the zero address passes")
	}
}

func TestAllowOpensWhatItNamesAndNoMore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allow string
		host  string
		to    string
		want  bool
	}{
		{"localhost", "localhost", "127.0.0.1:80", true},
		{"localhost", "localhost", "[::1]:80", true},
		{"localhost", "LOCALHOST.", "127.0.0.1:80", true},
		{"LocalHost.", "localhost", "127.0.0.1:80", true},
		{"localhost", "localhost.evil.example", "127.0.0.1:80", false},
		{"localhost", "127.0.0.1", "127.0.0.1:80", false},
		{"localhost:8080", "localhost", "127.0.0.1:8080", true},
		{"localhost:8080", "localhost", "127.0.0.1:80", false},
		{"api_1.internal", "api_1.internal", "10.1.2.3:443", true},
		{"127.0.0.1", "127.0.0.1", "127.0.0.1:80", true},
		{"127.0.0.1", "any.example", "127.0.0.1:80", true},
		{"127.0.0.1", "127.0.0.1", "127.0.0.2:80", false},
		{"127.0.0.1", "x.example", "[::ffff:127.0.0.1]:80", true},
		{"::ffff:127.0.0.1", "x.example", "127.0.0.1:80", true},
		{"127.0.0.1:81", "x.example", "127.0.0.1:81", true},
		{"127.0.0.1:81", "x.example", "127.0.0.1:80", false},
		{"10.0.0.0/8", "x.example", "10.255.0.1:1", true},
		{"10.0.0.0/8", "x.example", "11.0.0.1:1", true}, // public anyway
		{"10.0.0.0/8", "x.example", "192.168.0.1:1", false},
		{"::1", "x.example", "[::1]:80", true},
		{"::1", "x.example", "127.0.0.1:80", false},
		{"[::1]:80", "x.example", "[::1]:80", true},
		{"[::1]:80", "x.example", "[::1]:81", false},
		{"fe80::/10", "x.example", "[fe80::1%eth0]:80", true},
		{"fd00::/8", "x.example", "[fd12::1]:80", true},
		{"64:ff9b::/96", "x.example", "[64:ff9b::8.8.8.8]:443", true},
		{"::/0", "x.example", "127.0.0.1:80", false},
		{"::/0", "x.example", "[::1]:80", true},
	} {
		g, err := New(tt.allow)
		if err != nil {
			t.Errorf("New(%q): %v", tt.allow, err)
			continue
		}
		err = g.Check(tt.host, netip.MustParseAddrPort(tt.to))
		if (err == nil) != tt.want {
			t.Errorf("allow %q: %s at %s gave %v, want allowed: %v", tt.allow, tt.host, tt.to, err, tt.want)
		}
	}
}

func TestBlockedErrorNamesTheFix(t *testing.T) {
	t.Parallel()
	var g Guard
	for _, tt := range []struct{ host, addr, want string }{
		{"db.example", "10.0.0.1", "connecting to db.example is refused: it leads to a private address; add the host to allow_private to permit it"},
		{"10.0.0.1", "10.0.0.1", "connecting to 10.0.0.1 is refused: a private address; add the host to allow_private to permit it"},
	} {
		err := g.Check(tt.host, netip.AddrPortFrom(netip.MustParseAddr(tt.addr), 80))
		if err == nil || err.Error() != tt.want {
			t.Errorf("error is %v\nwant %s", err, tt.want)
		}
		blocked, ok := errors.AsType[*BlockedError](err)
		if !ok || blocked.Host != tt.host || blocked.Addr.String() != tt.addr {
			t.Errorf("error is %#v, want a BlockedError of %s and %s", err, tt.host, tt.addr)
		}
	}
}

// FuzzCheck compares the guard with the standard library's notion of non-public addresses.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "10.0.0.1", "8.8.8.8", "::1", "fe80::1", "::ffff:127.0.0.1", "2606:4700::1", "64:ff9b::1"} {
		f.Add(netip.MustParseAddr(seed).AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			t.Skip("no address")
		}
		var g Guard
		allowed := func(a netip.Addr) bool { return g.Check("x.example", netip.AddrPortFrom(a, 80)) == nil }
		plain := addr.Unmap()
		if allowed(addr) && (!plain.IsGlobalUnicast() || plain.IsPrivate() || plain.IsLoopback() || plain.IsLinkLocalUnicast()) {
			t.Errorf("%s passes", addr)
		}
		if allowed(addr) != allowed(plain) {
			t.Errorf("%s and %s are the same address and judged differently", addr, plain)
		}
		if addr.Is6() && !addr.Is4In6() && allowed(addr) != allowed(addr.WithZone("eth0")) {
			t.Errorf("a zone changes the verdict on %s", addr)
		}
		open, err := New(addr.String())
		if err != nil {
			t.Fatalf("New(%q): %v", addr, err)
		}
		if err := open.Check("x.example", netip.AddrPortFrom(addr, 80)); err != nil {
			t.Errorf("allowing %s does not allow it: %v", addr, err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	g, err := New("localhost", "10.0.0.0/8")
	if err != nil {
		b.Fatal(err)
	}
	to := netip.MustParseAddrPort("[2606:4700::1]:443")
	b.ReportAllocs()
	for b.Loop() {
		if g.Check("api.example", to) != nil {
			b.Fatal("refused")
		}
	}
}
