// Package sealed encrypts secrets in a store, so that a reader of the store or of a copy cannot use
// them.
package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// KeySize is the length of a key, in bytes.
const KeySize = 32

var (
	// ErrKey is returned for an invalid key.
	ErrKey = fmt.Errorf("an encryption key must have %d bytes", KeySize)
	// ErrOpen reports that a secret was sealed with another key, or for another place.
	ErrOpen = errors.New("it was encrypted with another encryption key")
)

// Box seals secrets with a key, by AES-256-GCM. A nil Box seals nothing: it leaves secrets
// unchanged. It is safe for concurrent use.
type Box struct{ aead cipher.AEAD }

// New returns the box for a key; nil if there is no key. The error is ErrKey.
func New(key []byte) (*Box, error) {
	if len(key) == 0 {
		return nil, nil //nolint:nilnil // nothing is encrypted
	}
	if len(key) != KeySize {
		return nil, ErrKey
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Box{aead}, nil
}

// Place names where a secret is stored. The secret can be opened only for that place, so copying it
// to another row is useless.
func Place(parts ...string) string { return strings.Join(parts, "\x00") }

// envelope is a secret as stored.
type envelope struct {
	// Sealed is a nonce, followed by the ciphertext.
	Sealed []byte `json:"sealed"`
}

// Seal encrypts a JSON value for storage at a place. The result is JSON too.
func (b *Box) Seal(place string, plain json.RawMessage) (json.RawMessage, error) {
	if b == nil {
		return plain, nil
	}
	nonce := make([]byte, b.aead.NonceSize(), b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	return json.Marshal(envelope{b.aead.Seal(nonce, nonce, plain, []byte(place))})
}

// Open decrypts a value sealed for a place. A value stored without a key is returned unchanged.
// The error is ErrOpen.
func (b *Box) Open(place string, kept json.RawMessage) (json.RawMessage, error) {
	var e envelope
	if json.Unmarshal(kept, &e) != nil || len(e.Sealed) == 0 {
		return kept, nil
	}
	if b == nil || len(e.Sealed) < b.aead.NonceSize() {
		return nil, ErrOpen
	}
	nonce, text := e.Sealed[:b.aead.NonceSize()], e.Sealed[b.aead.NonceSize():]
	plain, err := b.aead.Open(nil, nonce, text, []byte(place))
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}
