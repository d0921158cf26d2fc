package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// The limits of connections. A request's context limits its total time.
const (
	dialTimeout       = 10 * time.Second
	handshakeTimeout  = 10 * time.Second
	continueTimeout   = time.Second
	idleTimeout       = 90 * time.Second
	idlePerHost       = 16
	maxResponseHeader = 256 << 10
)

// DialContext connects to a TCP address if the guard allows one of the addresses to which its host
// resolves. It returns a *BlockedError on rejection. Errors of dialing and of the connection
// contain no addresses unknown to the client. It can be used as http.Transport's DialContext.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{
		Timeout: dialTimeout,
		// This is the last step before connecting: address is the actual address, whatever name
		// resolved to it.
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			return g.checkDial(host, network, address)
		},
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return nil, blocked // more specific than the wrapping error
	}
	if err != nil {
		return nil, concealAddress(err, destination(address))
	}
	return &guardedConn{conn, destination(address)}, nil
}

func (g *Guard) checkDial(host, network, address string) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("network %s is refused: only TCP is guarded", network)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("parse the resolved address: %w", err)
	}
	return g.Check(host, to)
}

// Transport returns a new HTTP transport whose connections all pass the guard. It ignores proxies
// from the environment, because a proxy would resolve hosts itself, bypassing the guard.
func Transport(g *Guard) *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    handshakeTimeout,
		ExpectContinueTimeout:  continueTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    idlePerHost,
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}
