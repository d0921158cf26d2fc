package resolve

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// delegation finds the tools called on behalf of an agent by its delegates, and by agents that take
// over from them. The agent's rules apply to all of them.
type delegation struct {
	ctx       context.Context //nolint:containedctx // lives as long as one comparison
	explainer *explainer
	root      *Explanation
}

// compareDelegated compares the delegates' access, on the agent's behalf, to tools that the agent
// does not have in both revisions; compareTools handles the others. Changes to the delegates
// themselves are reported for the delegates.
func (d *delegation) compareDelegated(before, after *view, settingsChanged bool) []Change {
	if before.env == nil || after.env == nil {
		return nil
	}
	old, fresh := byID(before.tools), byID(after.tools)
	var changes []Change
	for _, id := range d.toolIDs() {
		if isVisible(old[id]) && isVisible(fresh[id]) {
			continue
		}
		w := after.env.CeilingWidening(before.env, id, settingsChanged)
		if !w.Widened && !w.Narrowed {
			continue
		}
		if route := d.routeTo(id); route != nil {
			changes = append(changes, Change{
				Kind: Changed, Field: "tool", Subject: id, Through: route, Widened: w.Widened, Reason: w.Reason,
				Old: ceilingText(before.env.CeilingVerdict(id)), New: ceilingText(after.env.CeilingVerdict(id)),
			})
		}
	}
	return changes
}

func isVisible(c *ToolChoice) bool { return c != nil && c.Rule.Visible }

// ceilingText describes a limit on delegates.
func ceilingText(v plugins.Verdict) string {
	if v.Access == plugins.AccessAllow {
		return "not held back"
	}
	return reachText(v)
}

// toolIDs returns the tools that agents reached by delegation may call, each once.
func (d *delegation) toolIDs() []string {
	var ids []string
	seen := make(map[string]bool)
	d.visitReachable("", func(_ []string, e *Explanation) bool {
		for i := range e.Tools {
			if c := &e.Tools[i]; c.Offered() && !seen[c.ID] {
				seen[c.ID] = true
				ids = append(ids, c.ID)
			}
		}
		return false
	})
	return ids
}

// routeTo returns the shortest chain of agents from the root to an agent that may call the tool
// on its behalf, or nil.
func (d *delegation) routeTo(toolID string) (route []string) {
	d.visitReachable(toolID, func(found []string, e *Explanation) bool {
		if c := e.Tool(toolID); c != nil && c.Offered() {
			route = found
		}
		return route != nil
	})
	return route
}

// visitReachable visits the agents that a delegate of the root may lead to, nearest first, until
// visit returns true. It omits agents that cannot be reached, and agents whose callers deny the
// tool to all their delegates. It ignores whether a caller below the root denies its delegates the
// tool that leads on, so it may visit an agent that no turn reaches, but never misses one that a
// turn does. The root itself is visited if a delegate may hand the conversation to it: then its own
// handoffs also lead on.
func (d *delegation) visitReachable(toolID string, visit func(route []string, e *Explanation) bool) {
	visited := make(map[string]bool)
	queue := [][]string{nil}
	for len(queue) > 0 {
		route := queue[0]
		queue = queue[1:]
		from := d.root
		if len(route) > 0 {
			from = d.explainer.find(d.ctx, route[len(route)-1])
			if from == nil {
				continue
			}
			if visit(route, from) {
				return
			}
		}
		for _, id := range d.nextAgents(from, len(route) == 0, toolID) {
			if !visited[id] {
				visited[id] = true
				queue = append(queue, append(slices.Clip(route), id))
			}
		}
	}
}

// nextAgents returns the local agents that an agent may call, or hand the conversation to, while it
// works for the root, or that the root itself calls if first is set. The root's own handoffs are
// then excluded: an agent that takes over from it is not bound by its rules.
func (d *delegation) nextAgents(from *Explanation, first bool, toolID string) (ids []string) {
	for i := range from.Tools {
		c := &from.Tools[i]
		calls := c.Source.Kind == toolset.SourceDelegate
		if !c.Offered() || !calls && (c.Source.Kind != toolset.SourceHandoff || first) {
			continue
		}
		if !first && (deniesDelegates(d.root, c.ID) || calls && toolID != "" && deniesDelegates(from, toolID)) {
			continue
		}
		if agent, ok := d.explainer.rev.Set().Agent(c.Source.Name); ok && agent.UsesTools() {
			ids = append(ids, agent.ID)
		}
	}
	return ids
}

// deniesDelegates reports whether an agent denies a tool to its delegates, regardless of arguments.
func deniesDelegates(e *Explanation, toolID string) bool {
	return e.env.CeilingVerdict(toolID).Access == plugins.AccessDeny
}
