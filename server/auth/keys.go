// Package auth authenticates callers by API keys, JSON Web Tokens of an external issuer, and access
// tokens that the server issues itself. Each method is a server.Authenticator; a Chain tries
// several.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/server"
)

// keyPrefix begins the keys that NewKey makes, so that scanners for leaked
// secrets recognize them.
const keyPrefix = "ark_"

// keyBytes is the number of random bytes in a key.
const keyBytes = 32

// KeyHash is the SHA-256 of an API key. A key is entirely random, so one round of a fast hash
// protects it.
type KeyHash [sha256.Size]byte

// HashKey returns the hash of a key.
func HashKey(key string) KeyHash { return sha256.Sum256([]byte(key)) }

// hashPrefix names the hash in its text form.
const hashPrefix = "sha256:"

// ParseKeyHash parses the output of String.
func ParseKeyHash(text string) (KeyHash, error) {
	var h KeyHash
	digits, ok := strings.CutPrefix(text, hashPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(h)) {
		return h, fmt.Errorf("a hash is %s and %d hexadecimal digits", hashPrefix, hex.EncodedLen(len(h)))
	}
	if _, err := hex.Decode(h[:], []byte(digits)); err != nil {
		return KeyHash{}, fmt.Errorf("a hash is %s and hexadecimal digits: %w", hashPrefix, err)
	}
	return h, nil
}

// String returns the hash as it is written in a configuration.
func (h KeyHash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// NewKey returns a fresh random key.
func NewKey() string {
	chance := make([]byte, keyBytes)
	rand.Read(chance) // never fails: it crashes the process
	return keyPrefix + base64.RawURLEncoding.EncodeToString(chance)
}

// Key is an accepted API key and its principal.
type Key struct {
	Hash KeyHash
	// Principal is the holder of the key; its KeyID is required.
	Principal *server.Principal
	// Expires is when the key expires; the zero time means never.
	Expires time.Time
}

// Keys is the Authenticator of API keys. A request presents one as a bearer token or in the header
// X-API-Key.
type Keys struct {
	byHash map[KeyHash]Key
	clock  func() time.Time
}

var _ server.Authenticator = (*Keys)(nil)

// NewKeys returns an authenticator of keys. The first of several keys with the same hash counts. A
// nil clock means time.Now.
func NewKeys(keys []Key, clock func() time.Time) *Keys {
	if clock == nil {
		clock = time.Now
	}
	k := &Keys{byHash: make(map[KeyHash]Key, len(keys)), clock: clock}
	for _, key := range keys {
		if _, taken := k.byHash[key.Hash]; !taken {
			k.byHash[key.Hash] = key
		}
	}
	return k
}

// Authenticate returns the principal of a key. Keys are looked up by hash, which an attacker cannot
// choose, so the timing reveals nothing.
func (k *Keys) Authenticate(r *http.Request) (*server.Principal, error) {
	shown, err := credentialFrom(r.Header)
	if err != nil {
		return nil, err
	}
	hash := HashKey(shown)
	key, ok := k.byHash[hash]
	if !ok || subtle.ConstantTimeCompare(key.Hash[:], hash[:]) == 0 {
		return nil, &server.CredentialError{Unknown: true, Problem: "the key is not known"}
	}
	if !key.Expires.IsZero() && !k.clock().Before(key.Expires) {
		return nil, &server.CredentialError{KeyID: key.Principal.KeyID, Problem: "the key has expired"}
	}
	return key.Principal, nil
}

// credentialFrom returns the key or token of a request. It rejects a request with two, because a
// proxy may have checked the other one.
func credentialFrom(h http.Header) (string, error) {
	bearer, keys := h.Values("Authorization"), h.Values("X-Api-Key")
	switch {
	case len(bearer)+len(keys) == 0:
		return "", &server.CredentialError{Missing: true, Problem: "the request shows no credential"}
	case len(bearer)+len(keys) > 1:
		return "", &server.CredentialError{Problem: "the request shows more than one credential"}
	case len(keys) == 1:
		return keys[0], nil
	}
	scheme, token, _ := strings.Cut(bearer[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &server.CredentialError{Problem: "the credential is not a bearer token"}
	}
	return strings.TrimSpace(token), nil
}
