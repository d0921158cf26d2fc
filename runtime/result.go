package runtime

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
)

// Result is the outcome of a turn, or its progress. The agent of its Outcome is
// always set.
type Result struct {
	backend.Result
	TurnID    string
	SessionID string
	Status    event.Status
	// Custom is the application's own state of the session after the turn, or before it if the turn
	// did not succeed; nil if it has none.
	Custom json.RawMessage
	// Artifacts are the artifacts that the turn and its delegates created, with their data.
	Artifacts []tools.Artifact
}

// TurnError reports that a turn began and failed. It wraps the cause: a
// *model.Error, a *execution.HookError, a *backend.PanicError, the end of the
// context.
type TurnError struct {
	TurnID string
	Agent  string
	// Termination is how the turn ended.
	Termination event.Termination
	Err         error
}

// Error names the agent and the cause.
func (e *TurnError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("turn of agent %s: %s: %s", e.Agent, e.Termination.Type, e.Termination.Detail)
	}
	return fmt.Sprintf("turn of agent %s: %v", e.Agent, e.Err)
}

// Unwrap returns the cause.
func (e *TurnError) Unwrap() error { return e.Err }
