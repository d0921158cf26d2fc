package netguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// listen returns the address of a loopback listener that counts connections.
func listen(t *testing.T) (address string, accepted *atomic.Int64) {
	t.Helper()
	accepted = new(atomic.Int64)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_ = conn.Close()
		}
	}()
	return l.Addr().String(), accepted
}

func mustGuard(t *testing.T, allow ...string) *Guard {
	t.Helper()
	g, err := New(allow...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestDialRefusesBeforeItConnects(t *testing.T) {
	t.Parallel()
	address, accepted := listen(t)
	_, port, _ := net.SplitHostPort(address)
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "::ffff:127.0.0.1", "0.0.0.0"} {
		conn, err := mustGuard(t, "10.0.0.0/8", "other.example").DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s was dialed", host)
			continue
		}
		blocked, ok := errors.AsType[*BlockedError](err)
		if !ok {
			t.Errorf("%s: error is %v, want a BlockedError", host, err)
		} else if blocked.Host != host {
			t.Errorf("%s: the error names host %q", host, blocked.Host)
		}
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestDialConnectsToWhatIsAllowed(t *testing.T) {
	t.Parallel()
	address, _ := listen(t)
	_, port, _ := net.SplitHostPort(address)
	for _, tt := range []struct{ allow, host string }{
		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.0/8", "127.0.0.1"},
		{address, "127.0.0.1"},
		{"localhost", "localhost"},
		{"localhost:" + port, "Localhost"},
		{"127.0.0.0/8", "localhost"},
	} {
		conn, err := mustGuard(t, tt.allow).DialContext(t.Context(), "tcp4", net.JoinHostPort(tt.host, port))
		if err != nil {
			t.Errorf("allow %q: dialing %s: %v", tt.allow, tt.host, err)
			continue
		}
		_ = conn.Close()
	}
}

func TestDialRefusesOtherNetworks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ network, address string }{
		{"udp", "localhost:53"},
		{"unix", "/tmp/x.sock"},
		{"unix", "localhost:80"},
		{"tcp", "localhost"},
	} {
		if conn, err := mustGuard(t, "localhost").DialContext(t.Context(), tt.network, tt.address); err == nil {
			_ = conn.Close()
			t.Errorf("%s %s was dialed", tt.network, tt.address)
		}
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mustGuard(t, "localhost").DialContext(ctx, "tcp", "localhost:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want it to be canceled", err)
	}
}

func TestTransportSpeaksHTTP2ThroughTheGuard(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Proto))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := Transport(mustGuard(t, "127.0.0.1"))
	defer transport.CloseIdleConnections()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}

	resp, err := (&http.Client{Transport: transport}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Proto != "HTTP/2.0" {
		t.Errorf("protocol is %s", resp.Proto)
	}
}

func TestTransportIgnoresProxiesOfTheEnvironment(t *testing.T) {
	if Transport(&Guard{}).Proxy != nil {
		t.Error("the transport would use a proxy")
	}
}

func TestTransportRefusesRedirectsToPrivateAddresses(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer target.Close()
	origin := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusFound))
	defer origin.Close()
	transport := Transport(mustGuard(t, strings.TrimPrefix(origin.URL, "http://")))
	defer transport.CloseIdleConnections()

	resp, err := (&http.Client{Transport: transport}).Get(origin.URL)
	if err == nil {
		_ = resp.Body.Close()
	}
	if _, ok := errors.AsType[*BlockedError](err); !ok {
		t.Errorf("error is %v, want a BlockedError", err)
	}
	if reached.Load() {
		t.Error("the redirect was followed to a private address")
	}
}
