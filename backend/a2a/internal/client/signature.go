package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"
)

// signatureMode decides how the signatures of a card are checked.
type signatureMode string

const (
	// SignaturesOff looks at none.
	SignaturesOff signatureMode = "off"
	// signaturesIfPresent rejects a signed card without a signature by a known key.
	signaturesIfPresent signatureMode = "if_present"
	// signaturesRequired rejects a card that is not signed by a known key.
	signaturesRequired signatureMode = "required"
)

// ErrUnsigned reports that a card lacks a required signature.
var ErrUnsigned = errors.New("the agent card is not signed")

// SignatureError reports that no signature of a card is valid.
type SignatureError struct {
	// Count is the number of signatures, and Err the error of the last one.
	Count int
	Err   error
}

// Error names the cause.
func (e *SignatureError) Error() string {
	return fmt.Sprintf("none of the agent card's %d signatures is right: %v", e.Count, e.Err)
}

// Unwrap returns the error of the last signature.
func (e *SignatureError) Unwrap() error { return e.Err }

// SignatureAlgorithms are the allowed algorithms. Those without a public key are excluded: anyone
// who can check their signatures can forge them.
var SignatureAlgorithms = []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA, jose.RS256}

// MaxSignatures limits how many signatures of a card are checked.
const MaxSignatures = 16

// checkSignatures checks the signatures of a card, as received, against known keys. One valid
// signature suffices.
func checkSignatures(card []byte, signatures []a2a.AgentCardSignature, mode signatureMode, keys *jose.JSONWebKeySet) error {
	if mode == SignaturesOff || mode == signaturesIfPresent && len(signatures) == 0 {
		return nil
	}
	if len(signatures) == 0 {
		return ErrUnsigned
	}
	payloads, err := signedPayloads(card)
	if err != nil {
		return &SignatureError{Count: len(signatures), Err: err}
	}
	var last error
	for _, s := range signatures[:min(len(signatures), MaxSignatures)] {
		if last = checkSignature(s, payloads, keys); last == nil {
			return nil
		}
	}
	return &SignatureError{Count: len(signatures), Err: last}
}

var (
	errNotJWS         = errors.New("it is not a JWS of ES256, EdDSA or RS256")
	errUnknownKey     = errors.New("it names no known key")
	errWrongSignature = errors.New("it does not fit the card and any known key")
)

// checkSignature checks one signature. It ignores any key location in the signature: only known
// keys count.
func checkSignature(s a2a.AgentCardSignature, payloads [][]byte, keys *jose.JSONWebKeySet) error {
	for _, payload := range payloads {
		signed, err := jose.ParseDetached(s.Protected+".."+s.Signature, payload, SignatureAlgorithms)
		if err != nil {
			return errNotJWS
		}
		candidates := keys.Keys
		if kid := signed.Signatures[0].Protected.KeyID; kid != "" {
			candidates = keys.Key(kid)
		}
		if len(candidates) == 0 {
			return errUnknownKey
		}
		for _, key := range candidates {
			if key.Algorithm != "" && key.Algorithm != signed.Signatures[0].Protected.Algorithm {
				continue
			}
			if _, err := signed.Verify(key.Key); err == nil {
				return nil
			}
		}
	}
	return errWrongSignature
}

// signedPayloads returns the bytes that a card's signatures may cover: its canonical form without
// the signatures, as received and without empty values, which some signers omit and some servers
// add again.
func signedPayloads(card []byte) ([][]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(card, &fields); err != nil {
		return nil, err
	}
	delete(fields, "signatures")
	unsigned, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	received, err := jcs.Transform(unsigned)
	if err != nil {
		return nil, fmt.Errorf("the card has no canonical form: %w", err)
	}
	full, err := a2awire.CanonicalWithoutEmpty(received)
	if err != nil {
		return nil, err
	}
	return [][]byte{received, full}, nil
}
