package runtime

import "context"

// startable reports why no turn can begin with a request in the current revision.
func (r *AgentRuntime) startable(ctx context.Context, req *Request) error {
	plan, err := r.resolve(ctx, r.registry.Current(), req.AgentID, req)
	if err != nil {
		return err
	}
	if req.Depth > r.depth {
		return &DelegationError{Agent: plan.Agent.ID, Depth: r.depth}
	}
	_, err = r.place(plan, req, nil)
	return err
}
