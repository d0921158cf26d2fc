package a2a

import (
	_ "embed"
	"sync"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
)

//go:embed openapi.yaml
var description []byte

// latestDescription returns the description without protocol version 0.3.
var latestDescription = sync.OnceValue(func() []byte { return openapi.OmitPaths(description, "/a2a/{agent}/v0.3") })

var _ server.DeferredDescriber = (*Server)(nil)

// OpenAPI describes the routes.
func (s *Server) OpenAPI() []byte {
	if s.settings.V03 {
		return description
	}
	return latestDescription()
}

// DeferDescription does nothing: tests check the description against the routes.
func (*Server) DeferDescription() {}
