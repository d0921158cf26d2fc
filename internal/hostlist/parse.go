package hostlist

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// port limits an entry to a port; 0 means every port.
type port uint16

func (p port) matches(n uint16) bool { return p == 0 || uint16(p) == n }

type hostName struct {
	name string
	port port
}

type addressBlock struct {
	prefix netip.Prefix
	port   port
}

// addEntry adds an entry.
func (l *List) addEntry(entry string) error {
	switch {
	case entry == "":
		return errors.New("it is empty")
	case strings.Contains(entry, "://"):
		return errors.New("it is a URL; write the host alone")
	case strings.Contains(entry, "/"):
		prefix, err := parsePrefix(entry)
		if err != nil {
			return err
		}
		l.prefixes = append(l.prefixes, addressBlock{prefix: prefix})
		return nil
	}
	host, limit := entry, port(0)
	if _, err := netip.ParseAddr(entry); err != nil && strings.Contains(entry, ":") {
		var err error
		if host, limit, err = splitPort(entry); err != nil {
			return err
		}
	}
	return l.addHost(host, limit)
}

func (l *List) addHost(host string, limit port) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return errors.New("an address must not have a zone")
		}
		addr = addr.Unmap()
		l.prefixes = append(l.prefixes, addressBlock{netip.PrefixFrom(addr, addr.BitLen()), limit})
		return nil
	}
	name := foldName(host)
	if err := checkName(name); err != nil {
		return err
	}
	l.names = append(l.names, hostName{name, limit})
	return nil
}

func parsePrefix(entry string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(entry)
	switch {
	case err != nil:
		return netip.Prefix{}, errors.New("it is not a CIDR block such as 10.0.0.0/8")
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, errors.New("write the block as IPv4")
	case prefix != prefix.Masked():
		// Treating it as the wider block would allow more than intended.
		return netip.Prefix{}, fmt.Errorf("bits are set after the prefix; write %s for the block, or the address alone", prefix.Masked())
	}
	return prefix, nil
}

func splitPort(entry string) (string, port, error) {
	host, text, err := net.SplitHostPort(entry)
	if err != nil {
		return "", 0, errors.New("it is not a host, address, CIDR block or host:port")
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("port %q is not from 1 to 65535", text)
	}
	return host, port(n), nil
}

// foldName converts a host name to the form used for comparison.
func foldName(name string) string {
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

func checkName(name string) error {
	const longest, longestLabel = 253, 63
	if strings.Contains(name, "*") {
		return errors.New("wildcards are not supported; list the hosts, or a CIDR block")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > longestLabel || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errors.New("it is not a host name; names in other scripts are written in their xn-- form")
		}
	}
	// Resolvers read such names as addresses: 127.1 is 127.0.0.1.
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errors.New("it is neither a host name nor a complete IP address")
	}
	if len(name) > longest {
		return errors.New("it is longer than a host name can be")
	}
	return nil
}
