package providerproto

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// Invocation identifies the turn that sends a request to the manager, and the hosted provider that
// works on it.
type Invocation struct{ Provider, TurnID string }

// Manager answers AgentManagerHost with the rights of a turn's caller.
type Manager interface {
	// Manage answers one request into out. The error has a gRPC status.
	Manage(ctx context.Context, from Invocation, in, out proto.Message) error
}
