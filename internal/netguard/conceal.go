package netguard

import (
	"errors"
	"net"
)

// destination is what was dialled, as it was named: host:port.
type destination string

// Network is that of all that is guarded.
func (destination) Network() string { return "tcp" }

// String returns the name and the port.
func (d destination) String() string { return string(d) }

// guardedConn is a connection whose errors tell no addresses but the one that was
// asked for.
type guardedConn struct {
	net.Conn
	to destination
}

// Read reads from the connection.
func (c *guardedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		err = concealAddress(err, c.to)
	}
	return n, err
}

// Write writes to the connection.
func (c *guardedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		err = concealAddress(err, c.to)
	}
	return n, err
}

// concealAddress returns an error of the network without the address of this machine, of
// its name server, and without the one that a name resolved to: errors are shown
// to models, and to those who named the host.
func concealAddress(err error, to destination) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok {
		return err
	}
	inner := op.Err
	if dns, ok := errors.AsType[*net.DNSError](inner); ok {
		inner = concealLookup(dns, to)
	}
	return &net.OpError{Op: op.Op, Net: op.Net, Addr: to, Err: inner}
}

// concealLookup returns an error of a lookup in words of its own: those of the
// resolver name both ends of its own connection.
func concealLookup(dns *net.DNSError, to destination) error {
	host, _, err := net.SplitHostPort(string(to))
	if err != nil {
		host = string(to) // not reached: it was dialled
	}
	quiet := &net.DNSError{UnwrapErr: dns.UnwrapErr, Err: "the name cannot be looked up", Name: host, IsTimeout: dns.IsTimeout, IsTemporary: dns.IsTemporary, IsNotFound: dns.IsNotFound}
	switch {
	case dns.IsNotFound:
		quiet.Err = "no such host"
	case dns.IsTimeout:
		quiet.Err = "the name server does not answer in time"
	}
	return quiet
}
