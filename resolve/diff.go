package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/registry"
)

// Diff compares the effective environments of all agents in two revisions: backend, model, prompt,
// plugins, sections, limits, tools, and the permissions of delegates. It omits agents without
// differences; a new agent widens access by all of its tools. It fails if an agent of either
// revision does not resolve.
func Diff(ctx context.Context, before, after *registry.Revision) ([]AgentDiff, error) {
	if ids, ok := touchedAgents(before, after); ok {
		return DiffAgents(ctx, before, after, ids)
	}
	return diffAll(ctx, before, after)
}

// Widening is Diff for a change that must not widen access: it returns only the agents that may
// do more. An agent that did not resolve before the change counts as new.
func Widening(ctx context.Context, before, after *registry.Revision) ([]AgentDiff, error) {
	diffs, err := DiffAgents(ctx, before, after, agentsOfBoth(before, after))
	return slices.DeleteFunc(diffs, func(d AgentDiff) bool { return !d.Widened() }), err
}

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

// diffAll is Diff, but explains every agent again.
func diffAll(ctx context.Context, before, after *registry.Revision) ([]AgentDiff, error) {
	c := newComparison(before, after)
	c.strict = true
	return c.compareAgents(ctx, agentsOfBoth(before, after), nil)
}

// touchedAgents returns the agents that may differ between two revisions, in Diff's order: those
// that were not carried over unchanged. ok is false if that is unknown, because a dry run has not
// proven both.
func touchedAgents(before, after *registry.Revision) (ids []string, ok bool) {
	from, to := provenAgents(before), provenAgents(after)
	if from == nil || to == nil {
		return nil, false
	}
	return slices.DeleteFunc(agentsOfBoth(before, after), func(id string) bool {
		old, _ := from.Get(id)
		now, _ := to.Get(id)
		return old == now
	}), true
}

// agentsOfBoth returns the agents of one revision, and the agents that only the other has.
func agentsOfBoth(before, after *registry.Revision) []string {
	ids := slices.Clone(before.Set().AgentIDs())
	for _, id := range after.Set().AgentIDs() {
		if !hasAgent(before.Set(), id) {
			ids = append(ids, id)
		}
	}
	return ids
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

func compareViews(before, after view, reached *delegation) []Change {
	changes := []Change{}
	old := make(map[string]string, len(before.single))
	for _, f := range before.single {
		old[f.name] = f.value
	}
	fresh := make(map[string]bool, len(after.single))
	for _, f := range after.single {
		fresh[f.name] = true
		if was := old[f.name]; was != f.value {
			changes = append(changes, Change{Kind: kindOf(was, f.value), Field: f.name, Old: was, New: f.value})
		}
	}
	for _, f := range before.single {
		if !fresh[f.name] && f.value != "" {
			changes = append(changes, Change{Kind: Removed, Field: f.name, Old: f.value})
		}
	}
	changes = append(changes, compareHooks(before.hooks, after.hooks)...)
	changes = markLimits(changes, before.agent, after.agent)
	changes = append(changes, markGuards(compareNamed("plugin", before.plugins, after.plugins), &before)...)
	sections := markGuards(compareNamed("section", before.section, after.section), &before)
	changes = append(changes, sections...)
	tools := compareTools(&before, &after, len(sections) > 0)
	changes = append(changes, tools...)
	if len(sections) > 0 && !slices.ContainsFunc(tools, func(c Change) bool { return c.Widened }) {
		changes = append(changes, compareOtherTools(&before, &after)...)
	}
	return append(changes, reached.compareDelegated(&before, &after, len(sections) > 0)...)
}

// compareHooks compares the programs that run when a session starts. A new program widens access.
func compareHooks(before, after []field) []Change {
	changes := compareNamed("session_start", before, after)
	for i := range changes {
		changes[i].Widened = changes[i].Kind != Removed
	}
	return changes
}

func compareNamed(name string, before, after []field) []Change {
	var changes []Change
	find := func(list []field, name string) string {
		if i := slices.IndexFunc(list, func(f field) bool { return f.name == name }); i >= 0 {
			return list[i].value
		}
		return ""
	}
	for _, f := range before {
		if now := find(after, f.name); now != f.value {
			changes = append(changes, Change{Kind: kindOf(f.value, now), Field: name, Subject: f.name, Old: f.value, New: now})
		}
	}
	for _, f := range after {
		if find(before, f.name) == "" {
			changes = append(changes, Change{Kind: Added, Field: name, Subject: f.name, New: f.value})
		}
	}
	return changes
}
