package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
)

// writeCertificate writes a certificate for this machine with the given serial number, and its key.
func writeCertificate(t *testing.T, files *settings.ServerTLS, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{files.CertFile: {Type: "CERTIFICATE", Bytes: der}, files.KeyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACertificateIsReplacedWhileItIsUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := &settings.ServerTLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	if _, err := newCertificate(files); err == nil {
		t.Error("a certificate that is not there is loaded")
	}
	writeCertificate(t, files, 1)
	c, err := newCertificate(files)
	if err != nil {
		t.Fatal(err)
	}
	presented := func() int64 {
		t.Helper()
		near, far := net.Pipe()
		defer near.Close()
		go func() { _ = tls.Server(far, c.tlsConfig()).HandshakeContext(t.Context()) }()
		client := tls.Client(near, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the certificate is looked at below
		if err := client.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return client.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := presented(); got != 1 {
		t.Errorf("it presents number %d", got)
	}
	writeCertificate(t, files, 2)
	swap, err := c.prepareSwap(files)
	if err != nil || presented() != 1 {
		t.Fatalf("it presents number %d before it is to, %v", presented(), err)
	}
	if swap(); presented() != 2 {
		t.Errorf("it presents number %d", presented())
	}
	if err := os.WriteFile(files.KeyFile, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.prepareSwap(files); err == nil || presented() != 2 {
		t.Errorf("%v, and it presents number %d", err, presented())
	}
	for name, prepare := range map[string]func() (func(), error){
		"no certificate any more": func() (func(), error) { return c.prepareSwap(nil) },
		"none to begin with":      func() (func(), error) { return (*certificate)(nil).prepareSwap(files) },
	} {
		swap, err := prepare()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if swap(); presented() != 2 {
			t.Errorf("%s: it presents number %d", name, presented())
		}
	}
}
