package mcp

import (
	"context"
	"io"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceMCP, Roots: []string{"/mcp/"}, Errors: (*Surface)(nil), New: newComponent, ServeLines: serveClient}
}

// newComponent returns nil if the configuration disables the protocol.
func newComponent(s component.Settings) (server.Surface, error) {
	if !s.File.Server.ServesMCP() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	made := newSettings(&s)
	made.PublicURL, made.Origins, made.Draining = s.Server.URL, s.File.Server.CORSOrigins, s.Server.Draining
	made.Issuer = func() string { return s.Accepted().Issuer }
	surface, err := New(made)
	if err != nil {
		return nil, err
	}
	s.AtEnd(surface.Close)
	return surface, nil
}

func newSettings(s *component.Settings) Settings {
	return Settings{
		Service: s.Service, Prompts: s.File.Server.MCPPrompts, Resources: s.File.Server.MCPResources, Version: s.Version, Logger: s.Logger,
	}
}

// serveClient serves one client on a stream of lines.
func serveClient(ctx context.Context, s component.Settings, caller service.Caller, in io.ReadCloser, out io.WriteCloser) error {
	surface, err := New(newSettings(&s))
	if err != nil {
		return err
	}
	defer surface.Close()
	return surface.ServeLines(ctx, caller, in, out)
}
