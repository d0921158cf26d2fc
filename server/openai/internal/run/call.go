// Package run has the code shared by the protocols of the OpenAI API: reading input, beginning and
// continuing turns, and turning the log of a turn into items.
package run

import (
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// Own is the surface's member in the metadata of turns and sessions. Label is the label of its
// sessions.
const (
	Own   surfacekit.Own = "openai"
	Label                = string(Own)
)

// Call is a request and its caller.
type Call struct{ *surfacekit.Request }

// Encode returns a record of the surface as metadata. If it is too long, the error names param.
func Encode(record any, param string) (json.RawMessage, error) {
	data, err := Own.Encode(record)
	if long, ok := errors.AsType[*service.InvalidError](err); ok {
		return nil, BadField(param, "%s is too long: what is kept of the request %s", param, long.Problem)
	}
	return data, err
}

// NewRoute returns a route of the protocol.
func NewRoute(b *surfacekit.Base, pattern, scope string, answer func(*Call) (any, error)) server.Route {
	return b.NewRoute(pattern, scope, func(r *surfacekit.Request) (any, error) { return answer(&Call{r}) })
}

// AfterBegin returns the error of a request whose run continues, because a repeated request would
// start another run.
func (c *Call) AfterBegin(err error) error {
	c.W.Header().Set(retryHeader, "false")
	return err
}
