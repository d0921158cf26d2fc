package component

import (
	"context"
	"net"

	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// ProviderSettings configures an agent provider.
type ProviderSettings struct {
	// Version is the program's version, and Agent the id of the agent that runs turns; empty
	// means the only one.
	Version, Agent string
	// Durable reports whether turns outlive the process, and Prepared whether the host may hand
	// over prepared workspaces.
	Durable, Prepared bool
	// HostAddress and HostToken are used to call the host back; empty if there are no callbacks.
	HostAddress, HostToken string
	// Start creates the service once the host has configured the provider. Provider.TurnTools makes
	// the tools that turns bring along.
	Start func(context.Context) (*service.Service, error)
	// Logger is not nil.
	Logger *zap.Logger
}

// Provider serves agents to a host that starts the process.
type Provider interface {
	// Serve serves the host until ctx ends.
	Serve(ctx context.Context, listener net.Listener) error
	// TurnTools makes the tools of the host; nil if it has none.
	TurnTools() service.TurnTools
	// Close closes the connections to the host.
	Close() error
}
