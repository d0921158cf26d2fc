package workflows

import (
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/component"
)

// Component returns the protocol as a component of a program.
func Component() component.Surface {
	return component.Surface{Name: settings.SurfaceWorkflows, New: newComponent}
}

// newComponent returns nil if the configuration disables the protocol.
func newComponent(s component.Settings) (server.Surface, error) {
	if !s.File.Server.Workflows.On() {
		return nil, nil //nolint:nilnil // it is disabled
	}
	return &surface{s.Workflows}, nil
}

// GestaltComponent returns the protocol of Gestalt's clients as a component of a program. It needs the
// protocols of workflows and of sessions.
func GestaltComponent() component.Surface {
	return component.Surface{Name: "gestalt", Roots: []string{"/api/v1/workflow/"}, Errors: (*gestalt)(nil), New: newGestaltComponent}
}

func newGestaltComponent(s component.Settings) (server.Surface, error) {
	if c := &s.File.Server; !c.Workflows.On() || !c.Sessions.On() {
		return nil, nil //nolint:nilnil // it is disabled
	}
	return &gestalt{s.Workflows, s.Logger}, nil
}
