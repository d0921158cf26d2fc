package resolve

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/plugins"
)

// CallVerdict is the decision on a call, to the extent that the configuration determines it.
type CallVerdict struct {
	// Available is set if the agent has the tool.
	Available bool
	// Gate is the decision of the plugins' gates.
	Gate plugins.Verdict
	// Silent are the plugins whose gates cannot decide before a call is made.
	Silent []string
	// Problem describes how the arguments violate the tool's schema; empty if they do not, and for
	// a tool that the agent's catalog excludes.
	Problem string
}

// CallUnavailable is the decision on a call of a tool that the agent does not have.
const CallUnavailable = "unavailable"

// Decision returns allow, ask, deny, terminate or unavailable.
func (v *CallVerdict) Decision() string {
	switch {
	case !v.Available:
		return CallUnavailable
	case v.Gate.Terminate:
		return "terminate"
	default:
		return v.Gate.Access.String()
	}
}

// Call judges a call of one of the agent's tools. The agent must resolve.
func (e *Explanation) Call(toolID string, arguments json.RawMessage) CallVerdict {
	choice := e.Tool(toolID)
	v := CallVerdict{Available: choice != nil && choice.Rule.Visible}
	if e.env != nil {
		v.Gate, v.Silent = e.env.CallVerdict(toolID, arguments)
	}
	for _, entry := range e.seen {
		if entry.ID == toolID {
			v.Problem = entry.CheckArguments(context.Background(), arguments)
		}
	}
	return v
}
