// Package openai is the OpenAI API, by which its clients use the agents as models, as a
// component of a program.
package openai

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/openai"
	"github.com/agentruntime/agentruntime/settings"
)

// Surface returns the surface. The functions of its clients need the turn tools of
// app/turntools or app/surfaces/agentruns.
func Surface() app.Surface { return app.Surface{Name: settings.SurfaceOpenAI, New: newSurface} }

// newSurface returns nil where the configuration switches the protocol off.
func newSurface(s app.SurfaceSettings) (server.Surface, error) {
	if !s.File.Server.ServesOpenAI() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return openai.New(openai.Settings{Service: s.Service, Logger: s.Logger})
}
