package agentruns

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// repetition makes a request repeatable. The zero repetition does not.
type repetition struct {
	// key is empty without the header.
	key string
	// body is the body first used with the key.
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

// readRepetition reads the idempotency key of a request. Keys belong to the owner of the created
// resource, and to one kind of request.
func (c *call) readRepetition(kind string, body fields) (repetition, error) {
	key, err := surfacekit.ReadKey(c.r, "agent-runs", kind)
	if err != nil {
		return repetition{}, newInvalid("%s", err)
	}
	if key == "" {
		return repetition{}, nil
	}
	canonical, err := json.Marshal(body)
	if err != nil {
		return repetition{}, fmt.Errorf("encode the body of the request: %w", err)
	}
	return repetition{key: key, body: canonical}, nil
}

// usedKey is the error for a key that was used for a request with another body.
func usedKey(key string) *requestError {
	return &requestError{Code: codeKeyConflict, Message: fmt.Sprintf("the %s %q was used for another request", surfacekit.IdempotencyHeader, clip.Text(key))}
}
