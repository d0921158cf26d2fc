package workflows

import (
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service/workflow"
	"go.uber.org/zap"
)

// gestaltPath prefixes the paths of Gestalt's routes.
const gestaltPath = "/api/v1/workflow"

// Gestalt serves the schedules, triggers and runs of Surface in the format of Gestalt's clients.
// It is safe for concurrent use.
type Gestalt struct {
	engine *workflow.Engine
	logger *zap.Logger
}

var (
	_ server.Surface           = (*Gestalt)(nil)
	_ server.DeferredDescriber = (*Gestalt)(nil)
	_ server.ErrorWriter       = (*Gestalt)(nil)
	_ server.FailureWriter     = (*Gestalt)(nil)
)

// NewGestalt returns the surface of an engine. A nil logger drops internal errors.
func NewGestalt(engine *workflow.Engine, logger *zap.Logger) (*Gestalt, error) {
	if engine == nil {
		return nil, errors.New("no workflow engine is configured")
	}
	if logger == nil {
		logger = zap.NewNop()
	}
	return &Gestalt{engine, logger}, nil
}

// WriteError answers with an error of the router.
func (*Gestalt) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	surfacekit.WriteGestaltError(w, e)
}

// WriteFailure answers with an error of a handler.
func (g *Gestalt) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	surfacekit.WriteGestaltFailure(w, r, server.Report(r.Context(), g.logger, err))
}
