// Package provider is Gestalt's protocol of agent providers as a component of a program.
package provider

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/server/provider"
	"github.com/agentruntime/agentruntime/service"
)

// connected is a provider with the host that it calls.
type connected struct {
	*provider.Server
	host *provider.Host
}

// TurnTools makes the tools of the host; nil if it has none.
func (c *connected) TurnTools() service.TurnTools {
	if c.host == nil {
		return nil
	}
	return c.host
}

// Close ends the connection to the host.
func (c *connected) Close() error {
	if c.host == nil {
		return nil
	}
	return c.host.Close()
}

// New is what app.Components.Provider is to be.
func New(s app.ProviderSettings) (app.Provider, error) {
	c := new(connected)
	if s.HostAddress != "" {
		var err error
		if c.host, err = provider.NewHost(s.HostAddress, s.HostToken); err != nil {
			return nil, err
		}
	}
	c.Server = provider.New(provider.Settings{
		Version: s.Version, Agent: s.Agent, Durable: s.Durable, Prepared: s.Prepared, Start: s.Start, Host: c.host, Logger: s.Logger,
	})
	return c, nil
}
