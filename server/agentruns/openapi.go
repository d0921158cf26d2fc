package agentruns

import (
	_ "embed"

	"github.com/agentruntime/agentruntime/server"
)

//go:embed openapi.yaml
var description []byte

var _ server.DeferredDescriber = (*Surface)(nil)

// OpenAPI describes the routes.
func (*Surface) OpenAPI() []byte { return description }

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}
