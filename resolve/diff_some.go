package resolve

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/registry"
)

// DiffAgents is Diff for the given agents, which a change can affect. An agent that does not
// resolve before the change counts as new, as for Widening.
func DiffAgents(ctx context.Context, before, after *registry.Revision, ids []string) ([]AgentDiff, error) {
	return DiffAgentsFrom(ctx, before, after, ids, nil)
}

// DiffAgentsFrom is DiffAgents, but compares some agents with different agents of the earlier
// revision: from maps the agents' ids to the earlier ids.
func DiffAgentsFrom(ctx context.Context, before, after *registry.Revision, ids []string, from map[string]string) ([]AgentDiff, error) {
	return newComparison(before, after).compareAgents(ctx, ids, from)
}

// comparison compares agents of two revisions.
type comparison struct {
	before, after *explainer
	// strict is set if an agent that does not resolve before the change is an error.
	strict bool
}

func newComparison(before, after *registry.Revision) *comparison {
	return &comparison{before: newExplainer(before), after: newExplainer(after)}
}

// compareAgents returns the differences of agents, ordered by id. For from, see DiffAgentsFrom.
func (c *comparison) compareAgents(ctx context.Context, ids []string, from map[string]string) ([]AgentDiff, error) {
	var out []AgentDiff
	for _, id := range ids {
		d, err := c.compareAgent(ctx, id, cmp.Or(from[id], id))
		if err != nil {
			return nil, err
		}
		if d != nil {
			out = append(out, *d)
		}
	}
	return out, nil
}

// compareAgent compares an agent with the agent named known in the earlier revision; nil if they do
// not differ.
func (c *comparison) compareAgent(ctx context.Context, id, known string) (*AgentDiff, error) {
	var old, now *Explanation
	var err error
	if hasAgent(c.before.rev.Set(), known) { // not an agent with this short name
		old, err = c.before.explain(ctx, known)
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil && c.strict {
			return nil, fmt.Errorf("before the change: %w", err)
		}
	}
	if hasAgent(c.after.rev.Set(), id) {
		if now, err = c.after.explain(ctx, id); err != nil {
			return nil, fmt.Errorf("after the change: %w", err)
		}
	}
	d := &AgentDiff{Agent: id, Kind: kindOfAgent(old, now), Changes: []Change{}}
	if now == nil {
		if old == nil {
			return nil, nil
		}
		return d, nil
	}
	reached := delegation{ctx: ctx, explainer: c.after, root: now}
	var was view
	if old != nil {
		was = viewOf(c.before, old)
	}
	d.Changes = compareViews(was, viewOf(c.after, now), &reached)
	if err := c.after.err; err != nil {
		return nil, fmt.Errorf("after the change: %w", err)
	}
	if old != nil && len(d.Changes) == 0 {
		return nil, nil
	}
	return d, nil
}

// kindOfAgent returns the kind of change to an agent.
func kindOfAgent(old, now *Explanation) ChangeKind {
	switch {
	case old == nil:
		return Added
	case now == nil:
		return Removed
	default:
		return Changed
	}
}

// hasAgent reports whether a set has an agent with the id. Short names of a peer's agents do not
// count.
func hasAgent(set *registry.Set, id string) bool {
	agent, ok := set.Agent(id)
	return ok && agent.ID == id
}
