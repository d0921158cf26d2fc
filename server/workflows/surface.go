// Package workflows serves schedules, event triggers, events and runs of workflows over HTTP. It
// only translates: package service/workflow decides what callers may see and change.
package workflows

import (
	"errors"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service/workflow"
)

// prefix begins the paths of all routes.
const prefix = "/workflow"

// Surface is the protocol. It is safe for concurrent use.
type Surface struct{ engine *workflow.Engine }

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
)

// New returns the surface of an engine.
func New(engine *workflow.Engine) (*Surface, error) {
	if engine == nil {
		return nil, errors.New("no workflow engine is configured")
	}
	return &Surface{engine}, nil
}
