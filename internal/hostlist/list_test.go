package hostlist

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"":                              "empty",
		"http://localhost":              "URL",
		"10.0.0.1/8":                    "write 10.0.0.0/8",
		"10.0.0.0/33":                   "not a CIDR",
		"10.0.0.0/":                     "not a CIDR",
		"/8":                            "not a CIDR",
		"localhost/8":                   "not a CIDR",
		"::ffff:10.0.0.0/104":           "as IPv4",
		"fe80::1%eth0":                  "zone",
		"[fe80::1%eth0]:80":             "zone",
		"*.internal":                    "wildcards",
		"*":                             "wildcards",
		"localhost:":                    "port",
		"localhost:0":                   "port",
		"localhost:65536":               "port",
		"localhost:http":                "port",
		":80":                           "not a host name",
		"a:b:c":                         "host:port",
		"[::1]":                         "host:port",
		"127.1":                         "complete IP address",
		"2130706433":                    "complete IP address",
		"0x7f000001":                    "complete IP address",
		"300.1.1.1":                     "complete IP address",
		"a b":                           "not a host name",
		"a..b":                          "not a host name",
		".":                             "not a host name",
		"bücher.example":                "xn--",
		"user@host":                     "not a host name",
		strings.Repeat("a", 64):         "not a host name",
		strings.Repeat("a.", 130) + "b": "longer",
	} {
		_, err := Parse("ok.example", entry)
		if err == nil {
			t.Errorf("Parse(%q) gave no error", entry)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): error %q does not say %q", entry, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"localhost", "localhost:80", "10.0.0.0/8", "[::1]:80", "::1", "*", "a:b", "127.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		l, err := Parse(entry)
		if err != nil {
			return
		}
		if len(l.names)+len(l.prefixes) != 1 {
			t.Errorf("entry %q became %d names and %d blocks", entry, len(l.names), len(l.prefixes))
		}
		// One entry never permits two address families, whatever it contains.
		if l.names == nil &&
			l.Contains("x.example", netip.MustParseAddrPort("127.0.0.1:80")) &&
			l.Contains("x.example", netip.MustParseAddrPort("[::1]:80")) {
			t.Errorf("entry %q allows IPv4 and IPv6", entry)
		}
	})
}

func TestContainsIsFalseOfNoAddress(t *testing.T) {
	t.Parallel()
	l, err := Parse("0.0.0.0/0", "::/0", "host.example")
	if err != nil {
		t.Fatal(err)
	}
	if l.Contains("host.example", netip.AddrPort{}) {
		t.Error("the zero address is on the list")
	}
}
