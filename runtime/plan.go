package runtime

import (
	"context"

	"github.com/agentruntime/agentruntime/resolve"
)

// plan returns the plan of a request in the current revision, or why no turn can
// begin with it.
func (r *AgentRuntime) plan(ctx context.Context, req *Request) (*resolve.Plan, error) {
	plan, err := r.resolve(ctx, r.registry.Current(), req.AgentID, req)
	if err != nil {
		return nil, err
	}
	if _, err := r.place(plan, req); err != nil {
		return nil, err
	}
	return plan, nil
}
