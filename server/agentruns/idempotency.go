package agentruns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
)

const (
	// idempotencyHeader names a request, so that it can be repeated without being
	// carried out twice.
	idempotencyHeader = "Idempotency-Key"
	// maxIdempotencyKey bounds its value, in bytes.
	maxIdempotencyKey = 255
)

// repetition makes a request repeatable. The zero repetition does not.
type repetition struct {
	// key is empty without the header.
	key string
	// body is what the key stands for.
	body json.RawMessage
}

// readSpec returns the body of a request that makes something of a kind, with
// warnings for its unknown fields, and whether the request is repeated.
func (c *call) readSpec(kind string) (body fields, warnings []warning, again repetition, err error) {
	if body, err = c.readBody(); err != nil {
		return nil, nil, repetition{}, err
	}
	if warnings, err = body.unknownFields(); err != nil {
		return nil, nil, repetition{}, err
	}
	again, err = c.readRepetition(kind, body)
	return body, warnings, again, err
}

// readRepetition returns what the request says of being repeated. Keys belong to the
// owner of what is made; those of the kinds of requests are told apart.
func (c *call) readRepetition(kind string, body fields) (repetition, error) {
	values := c.r.Header.Values(idempotencyHeader)
	if len(values) == 0 {
		return repetition{}, nil
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > maxIdempotencyKey || !utf8.ValidString(key) ||
		containsControl(key) {
		return repetition{}, newInvalid("the header %s must be given once, with 1 to %d bytes of text", idempotencyHeader, maxIdempotencyKey)
	}
	canonical, err := json.Marshal(body)
	if err != nil {
		return repetition{}, fmt.Errorf("encode the body of the request: %w", err)
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + key))
	return repetition{key: "agent-runs:" + hex.EncodeToString(sum[:]), body: canonical}, nil
}

func containsControl(text string) bool {
	for _, r := range text {
		if unicode.IsControl(r) {
			return true
		}
	}
	return false
}

// usedKey is the error for a key that was used for a request with another body.
func usedKey(key string) *requestError {
	return &requestError{Code: codeKeyConflict, Message: fmt.Sprintf("the %s %q was used for another request", idempotencyHeader, clip.Text(key))}
}
