package resolve

import (
	"slices"
)

// ChangeKind is the kind of change to an agent or part of its environment.
type ChangeKind string

// The kinds of changes.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// Change is one difference between the environments of an agent.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Field is the changed field: model, prompt, plugin, section, tool and so on.
	Field string `json:"field"`
	// Subject identifies the entry, for fields with several.
	Subject string `json:"subject,omitempty"`
	// Through are, for a tool that only delegates of the agent have, the agents
	// that lead to it; the last one has it.
	Through []string `json:"through,omitempty"`
	Old     string   `json:"old,omitempty"`
	New     string   `json:"new,omitempty"`
	// Widened is set if the agent may now do or use more than before.
	Widened bool `json:"widened,omitempty"`
	// Lifted are the fields, such as budgets.max_tokens, whose limit is lifted.
	Lifted []string `json:"lifted,omitempty"`
	// Reason names the rule that decides, or the lifted limit.
	Reason string `json:"reason,omitempty"`
}

// AgentDiff is the difference between one agent's effective environments in two revisions.
type AgentDiff struct {
	Agent   string     `json:"agent"`
	Kind    ChangeKind `json:"kind"`
	Changes []Change   `json:"changes"`
}

// Widened reports whether the agent may now do or use more than before.
func (d *AgentDiff) Widened() bool {
	return slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Widened })
}

// Lost returns the ids of the tools, including delegates and handoffs, that the agent may no longer
// call. A removed agent has lost itself.
func (d *AgentDiff) Lost() (tools []string) {
	if d.Kind == Removed {
		return []string{"the agent"}
	}
	for i := range d.Changes {
		if c := &d.Changes[i]; c.Field == "tool" && c.Kind == Removed && len(c.Through) == 0 {
			tools = append(tools, c.Subject)
		}
	}
	return tools
}

func kindOf(before, after string) ChangeKind {
	switch {
	case before == "":
		return Added
	case after == "":
		return Removed
	default:
		return Changed
	}
}
