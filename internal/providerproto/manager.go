package providerproto

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// Invocation tells which turn sends a request to the manager, and which hosted provider works
// on it.
type Invocation struct{ Provider, TurnID string }

// Manager answers AgentManagerHost with the rights of the caller of a turn.
type Manager interface {
	// Manage answers one request into out. The error has a gRPC status.
	Manage(ctx context.Context, from Invocation, in, out proto.Message) error
}
