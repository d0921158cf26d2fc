package runtime

import (
	"context"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
)

// idle is the backend of turns that do nothing. It replaces the agent's backend.
type idle struct{ backend.Backend }

// Execute ends the turn.
func (idle) Execute(_ context.Context, job *backend.Job, _ backend.Host) (*backend.Result, error) {
	return &backend.Result{Outcome: event.Outcome{FinishReason: model.FinishNone}, Session: job.Session}, nil
}
