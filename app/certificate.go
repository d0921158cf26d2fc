package app

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/config/settings"
)

// certificate is the certificate of a server, which may be replaced while
// connections are made.
type certificate struct {
	current atomic.Pointer[tls.Certificate]
}

// newCertificate loads the configured certificate.
func newCertificate(s *settings.ServerTLS) (*certificate, error) {
	c := new(certificate)
	swap, err := c.prepareSwap(s)
	if err != nil {
		return nil, err
	}
	swap()
	return c, nil
}

// prepareSwap loads the certificate of a new configuration. New connections use it once swap is
// called. A nil certificate stays nil, and a certificate stays in use if the new configuration
// names none.
func (c *certificate) prepareSwap(s *settings.ServerTLS) (swap func(), err error) {
	if c == nil || s == nil {
		return func() {}, nil
	}
	next, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load the certificate: %w", err)
	}
	return func() { c.current.Store(&next) }, nil
}

// tlsConfig returns the TLS configuration for connections.
func (c *certificate) tlsConfig() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
		MinVersion:     tls.VersionTLS12,
	}
}
