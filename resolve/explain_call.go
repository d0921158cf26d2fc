package resolve

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/plugins"
)

// CallVerdict is the decision on a call, as far as the configuration determines it.
type CallVerdict struct {
	// Gate is what the plugins' gates decide.
	Gate plugins.Verdict
	// Silent are the plugins whose gates cannot tell before a call is made.
	Silent []string
	// Problem is how the arguments violate the tool's schema; empty when they do
	// not, and for a tool that the agent's catalog keeps out.
	Problem string
}

// Call judges a call of one of the agent's tools. The agent must resolve.
func (e *Explanation) Call(toolID string, arguments json.RawMessage) CallVerdict {
	var v CallVerdict
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
