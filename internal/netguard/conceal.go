package netguard

import (
	"errors"
	"net"
)

// destination is the dialed address as named by the client: host:port.
type destination string

// Network returns "tcp", the only guarded network.
func (destination) Network() string { return "tcp" }

// String returns the name and the port.
func (d destination) String() string { return string(d) }

// guardedConn is a connection whose errors reveal only the address that the client named.
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

// concealAddress removes from a network error the addresses of this machine and its name server,
// and the address to which a name resolved, because errors are shown to models and to the users who
// named the host.
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

// concealLookup rewrites the error of a lookup, because resolver errors contain both addresses of
// their connection.
func concealLookup(dns *net.DNSError, to destination) error {
	host, _, err := net.SplitHostPort(string(to))
	if err != nil {
		host = string(to) // not reached: it was dialed
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
