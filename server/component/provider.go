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
	// Durable reports whether turns outlive the process, and Prepared whether the host may
	// hand over workspaces that it has prepared.
	Durable, Prepared bool
	// HostAddress and HostToken are how the host is called back; empty for not at all.
	HostAddress, HostToken string
	// Start makes the service when the host has configured the provider. The tools that
	// turns bring along are made by Provider.TurnTools.
	Start func(context.Context) (*service.Service, error)
	// Logger is not nil.
	Logger *zap.Logger
}

// Provider serves agents to a host that starts the process.
type Provider interface {
	// Serve answers the host until ctx ends.
	Serve(ctx context.Context, listener net.Listener) error
	// TurnTools makes the tools of the host; nil if it has none.
	TurnTools() service.TurnTools
	// Close ends what connects to the host.
	Close() error
}
