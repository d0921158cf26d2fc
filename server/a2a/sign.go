package a2a

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"
)

// Signer signs cards as defined by A2A: a JSON Web Signature over the canonical form of the card
// without its signatures. It is safe for concurrent use.
type Signer struct {
	signer jose.Signer
	public jose.JSONWebKey
}

var errKey = errors.New("the key is neither an ECDSA key on P-256 nor an Ed25519 key in PEM (PKCS #8 or SEC 1)")

// LoadSigner returns a signer with the private key in a PEM file.
func LoadSigner(path string) (*Signer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key that signs cards: %w", err)
	}
	s, err := NewSigner(data)
	if err != nil {
		return nil, fmt.Errorf("the key that signs cards, %s: %w", path, err)
	}
	return s, nil
}

// NewSigner returns a signer with a private key in PEM: ECDSA on P-256, which signs with ES256, or
// Ed25519, which signs with EdDSA. The key's id is its thumbprint by RFC 7638.
func NewSigner(key []byte) (*Signer, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if parsed, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
			return nil, errKey
		}
	}
	var algorithm jose.SignatureAlgorithm
	var public crypto.PublicKey
	switch k := parsed.(type) {
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() {
			return nil, errKey
		}
		algorithm, public = jose.ES256, k.Public()
	case ed25519.PrivateKey:
		algorithm, public = jose.EdDSA, k.Public()
	default:
		return nil, errKey
	}
	jwk := jose.JSONWebKey{Key: public, Algorithm: string(algorithm), Use: "sig"}
	print, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("name the key: %w", err)
	}
	jwk.KeyID = base64.RawURLEncoding.EncodeToString(print)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: parsed, KeyID: jwk.KeyID}},
		(&jose.SignerOptions{}).WithType("JOSE"))
	if err != nil {
		return nil, fmt.Errorf("use the key: %w", err)
	}
	return &Signer{signer: signer, public: jwk}, nil
}

// PublicKeys returns the JSON Web Key Set that verifies the signatures.
func (s *Signer) PublicKeys() ([]byte, error) {
	return json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{s.public}})
}

// signCard adds a signature to a card, over its content without empty values, which other SDKs
// remove before verification. A nil signer adds none.
func (s *Signer) signCard(card *a2a.AgentCard) error {
	if s == nil {
		return nil
	}
	card.Signatures = nil
	data, err := json.Marshal(card)
	if err != nil {
		return fmt.Errorf("encode the card: %w", err)
	}
	if data, err = a2awire.CanonicalWithoutEmpty(data); err != nil {
		return fmt.Errorf("encode the card: %w", err)
	}
	signature, err := s.signJSON(data)
	if err == nil {
		card.Signatures = []a2a.AgentCardSignature{*signature}
	}
	return err
}

// signJSON signs the JSON of a card without signatures.
func (s *Signer) signJSON(card []byte) (*a2a.AgentCardSignature, error) {
	payload, err := jcs.Transform(card)
	if err != nil {
		return nil, fmt.Errorf("bring the card into its canonical form: %w", err)
	}
	signed, err := s.signer.Sign(payload)
	if err != nil {
		return nil, fmt.Errorf("sign the card: %w", err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		return nil, fmt.Errorf("sign the card: %w", err)
	}
	parts := strings.Split(compact, ".")
	return &a2a.AgentCardSignature{Protected: parts[0], Signature: parts[2]}, nil
}
