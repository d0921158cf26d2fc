// Package workflows serves schedules, event triggers, events and runs of workflows over HTTP. It
// only translates: package service/workflow decides what callers may see and change.
package workflows

import (
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service/workflow"
)

// prefix begins the paths of all routes.
const prefix = "/workflow"

// surface is the protocol. It is safe for concurrent use.
type surface struct{ engine *workflow.Engine }

var (
	_ server.Surface           = (*surface)(nil)
	_ server.DeferredDescriber = (*surface)(nil)
)
