package workflow

import (
	"context"
	"net/http"

	"github.com/agentruntime/agentruntime/runtime/telemetry"
)

// startTrace starts the trace of the run's turns.
func (a *activation) startTrace(ctx context.Context) http.Header {
	if rt := a.settings.Turns.Runtime(); rt != nil {
		ctx = rt.Telemetry().WorkflowRun(ctx, a.run.WorkflowID, a.run.ID, string(a.trigger.Kind))
	}
	header := make(http.Header)
	telemetry.Inject(ctx, header)
	return header
}
