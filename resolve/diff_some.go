package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/registry"
)

// DiffAgents is Diff of some agents: those that a change can concern. An agent that does
// not resolve before the change counts as new, as for Widening.
func DiffAgents(ctx context.Context, before, after *registry.Revision, ids []string) ([]AgentDiff, error) {
	return DiffAgentsFrom(ctx, before, after, ids, nil)
}

// DiffAgentsFrom is DiffAgents with some agents compared with others of the revision
// before: from has the ids of those by the ids of the agents.
func DiffAgentsFrom(ctx context.Context, before, after *registry.Revision, ids []string, from map[string]string) ([]AgentDiff, error) {
	explained, err := explainReached(ctx, after, ids)
	if err != nil {
		return nil, fmt.Errorf("after the change: %w", err)
	}
	var out []AgentDiff
	for _, id := range ids {
		now, is := explained[id]
		known := cmp.Or(from[id], id)
		old, err := Explain(ctx, before, known)
		was := err == nil && hasAgent(before.Set(), known) // and not one whose short name it is
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case !is && was:
			out = append(out, AgentDiff{Agent: id, Kind: Removed, Changes: []Change{}})
		case is && was:
			reached := delegation{set: after.Set(), explained: explained, root: now}
			if changes := compareViews(viewOf(before.Set(), old), viewOf(after.Set(), now), &reached); len(changes) > 0 {
				out = append(out, AgentDiff{Agent: id, Kind: Changed, Changes: changes})
			}
		case is:
			reached := delegation{set: after.Set(), explained: explained, root: now}
			out = append(out, AgentDiff{Agent: id, Kind: Added, Changes: compareViews(view{}, viewOf(after.Set(), now), &reached)})
		}
	}
	return out, nil
}

// hasAgent reports whether a set has an agent with an id, which is no short name of a
// peer's agent.
func hasAgent(set *registry.Set, id string) bool {
	agent, ok := set.Agent(id)
	return ok && agent.ID == id
}

// explainReached explains agents, and those that they lead to. Agents that do not exist
// are left out.
func explainReached(ctx context.Context, rev *registry.Revision, ids []string) (map[string]*Explanation, error) {
	explained := make(map[string]*Explanation)
	queue := slices.Clone(ids)
	for len(queue) > 0 {
		agent, ok := rev.Set().Agent(queue[0])
		queue = queue[1:]
		if !ok || explained[agent.ID] != nil {
			continue
		}
		e, err := Explain(ctx, rev, agent.ID)
		if err != nil {
			return nil, err
		}
		explained[agent.ID] = e
		queue = append(append(queue, e.Agent.Delegates...), e.Agent.Handoffs...)
	}
	return explained, nil
}
