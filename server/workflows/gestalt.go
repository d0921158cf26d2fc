package workflows

import (
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service/workflow"
	"go.uber.org/zap"
)

// gestaltPath prefixes the paths of Gestalt's routes.
const gestaltPath = "/api/v1/workflow"

// gestalt serves the schedules, triggers and runs of a surface in the format of Gestalt's clients.
// It is safe for concurrent use.
type gestalt struct {
	engine *workflow.Engine
	logger *zap.Logger
}

var (
	_ server.Surface           = (*gestalt)(nil)
	_ server.DeferredDescriber = (*gestalt)(nil)
	_ server.ErrorWriter       = (*gestalt)(nil)
	_ server.FailureWriter     = (*gestalt)(nil)
)

// WriteError answers with an error of the router.
func (*gestalt) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	surfacekit.WriteGestaltError(w, e)
}

// WriteFailure answers with an error of a handler.
func (g *gestalt) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	surfacekit.WriteGestaltFailure(w, r, server.Report(r.Context(), g.logger, err))
}
