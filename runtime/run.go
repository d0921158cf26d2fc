package runtime

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
)

// ErrNoInput reports a request without a message.
var ErrNoInput = errors.New("the request has no input: give at least one message")

// Run runs a turn and returns its result. The events go to the sink, which may be nil, from
// run_start to exactly one run_finish. A turn that has to wait for an external event ends as
// suspended; use Start for turns that get answers.
//
// If the request cannot start, because its agent does not resolve, its input is empty, or an answer
// does not fit, Run returns an error without a result and emits no event. A turn that failed or was
// canceled returns a result and a *TurnError. A turn stopped between steps returns a result with a
// State and backend.ErrYield, and emits no run_finish.
func (r *AgentRuntime) Run(ctx context.Context, req Request, sink event.Sink) (*Result, error) {
	a, err := r.newActivation(ctx, &req, sink)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return a.runToOutcome(ctx)
}

// runToOutcome runs the turn to its first outcome. It does not resume a waiting turn.
func (a *Activation) runToOutcome(ctx context.Context) (*Result, error) {
	ctx = a.Observe(ctx)
	if a.Execute(ctx) == Yielded {
		return a.Leave(nil), backend.ErrYield
	}
	return a.Finish(ctx)
}
