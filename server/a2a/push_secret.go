package a2aserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/store"
)

// pushKeySize is the length of the key that push configurations are kept with.
const pushKeySize = 32

var (
	errPushKey    = fmt.Errorf("the key for push configurations must have %d bytes", pushKeySize)
	errPushSealed = errors.New("the push configuration cannot be read: it was made with another encryption key")
)

// sealedTarget is a target as it is kept when there is a key.
type sealedTarget struct {
	// Sealed is a nonce, and behind it the target, encrypted with AES-256-GCM.
	Sealed []byte `json:"sealed"`
}

// newPushCipher returns the cipher of a key; nil for no key.
func newPushCipher(key []byte) (cipher.AEAD, error) {
	if len(key) == 0 {
		return nil, nil //nolint:nilnil // nothing is encrypted
	}
	if len(key) != pushKeySize {
		return nil, errPushKey
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal returns a target as it is kept with a webhook. It can be opened for that
// one alone: to copy it to another row is of no use.
func (s *PushSender) seal(turnID, id string, t *pushTarget) (json.RawMessage, error) {
	plain, err := json.Marshal(t)
	if err != nil || s.cipher == nil {
		return plain, err
	}
	nonce := make([]byte, s.cipher.NonceSize(), s.cipher.NonceSize()+len(plain)+s.cipher.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	return json.Marshal(sealedTarget{s.cipher.Seal(nonce, nonce, plain, place(turnID, id))})
}

// open returns the target of a webhook. One that was kept before there was a key
// is read as it is.
func (s *PushSender) open(h *store.Webhook) (*pushTarget, error) {
	var kept struct {
		sealedTarget
		pushTarget
	}
	if err := json.Unmarshal(h.Data, &kept); err != nil {
		return nil, errPushSealed
	}
	if len(kept.Sealed) == 0 {
		return &kept.pushTarget, nil
	}
	if s.cipher == nil || len(kept.Sealed) < s.cipher.NonceSize() {
		return nil, errPushSealed
	}
	nonce, text := kept.Sealed[:s.cipher.NonceSize()], kept.Sealed[s.cipher.NonceSize():]
	plain, err := s.cipher.Open(nil, nonce, text, place(h.TurnID, h.ID))
	if err != nil {
		return nil, errPushSealed
	}
	t := new(pushTarget)
	if err := json.Unmarshal(plain, t); err != nil {
		return nil, errPushSealed
	}
	return t, nil
}

func place(turnID, id string) []byte { return []byte(turnID + "\x00" + id) }
