package provider

import (
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
)

// connected is a provider and the host that it calls.
type connected struct {
	*Server
	host *Host
}

// TurnTools makes the tools of the host; nil if it has none.
func (c *connected) TurnTools() service.TurnTools {
	if c.host == nil {
		return nil
	}
	return c.host
}

// Close closes the connection to the host.
func (c *connected) Close() error {
	if c.host == nil {
		return nil
	}
	return c.host.Close()
}

// Connect returns the provider with a connection to its host, for app.Components.Provider.
func Connect(s component.ProviderSettings) (component.Provider, error) {
	c := new(connected)
	if s.HostAddress != "" {
		var err error
		if c.host, err = NewHost(s.HostAddress, s.HostToken); err != nil {
			return nil, err
		}
	}
	c.Server = New(Settings{
		Version: s.Version, Agent: s.Agent, Durable: s.Durable, Prepared: s.Prepared, Start: s.Start, Host: c.host, Logger: s.Logger,
	})
	return c, nil
}
