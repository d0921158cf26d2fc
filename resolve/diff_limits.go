package resolve

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/access"
	"github.com/agentruntime/agentruntime/spec"
)

// markLimits marks the changes that lift a limit of an agent. A new agent has no limits to lift.
func markLimits(changes []Change, before, after *spec.Agent) []Change {
	if before == nil {
		return changes
	}
	for _, f := range access.Widened(before, after) {
		i := slices.IndexFunc(changes, func(c Change) bool { return c.Field == f.Top() })
		if i < 0 {
			i, changes = len(changes), append(changes, Change{Kind: Changed, Field: f.Top()})
		}
		c := &changes[i]
		c.Widened, c.Lifted = true, append(c.Lifted, f.Path)
		if f.Path != f.Top() {
			c.Reason = strings.Join(c.Lifted, ", ")
		}
	}
	return changes
}

// markGuards marks the changes that remove a potential limit of the agent or, for sections, change
// it.
func markGuards(changes []Change, before *view) []Change {
	for i := range changes {
		c := &changes[i]
		if before.guards[c.Field+" "+c.Subject] && (c.Kind == Removed || c.Kind == Changed && c.Field == "section") {
			c.Widened, c.Reason = true, "it may limit the agent"
		}
	}
	return changes
}
