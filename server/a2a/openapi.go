package a2a

import (
	_ "embed"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/openapi"
)

//go:embed openapi.yaml
var description []byte

var _ server.DeferredDescriber = (*Server)(nil)

// OpenAPI describes the routes.
func (s *Server) OpenAPI() []byte {
	if s.settings.V03 {
		return description
	}
	return openapi.OmitPaths(description, "/a2a/{agent}/v0.3")
}

// DeferDescription does nothing: tests hold the description against the routes.
func (*Server) DeferDescription() {}
