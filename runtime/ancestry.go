package runtime

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/plugins"
)

// ancestry describes the turns that led to a delegated turn.
type ancestry struct {
	turnID, callID string
	// path lists the calls that led to the turn, starting with the root's.
	path []string
	// chain lists the ancestor agents, the root first, and depth is the number of agents in other
	// runtimes that led to the root.
	chain   []string
	depth   int
	ceiling []plugins.CeilingGate
	meter   *backend.Meter
	// session is the root turn's session, which owns the artifacts of its delegates.
	session *sessionState
}

// DelegationError reports that a delegate was not started.
type DelegationError struct {
	// Agent is the agent that should have been called.
	Agent string
	// Chain lists the agents whose turns led there, root first, except those in other runtimes.
	Chain []string
	// Depth is the limit that was reached, or 0 if the agent is already part of the
	// chain.
	Depth int
}

// Error names the agent and the chain.
func (e *DelegationError) Error() string {
	chain := strings.Join(e.Chain, " → ")
	if e.Depth > 0 {
		if chain == "" {
			chain = "it was called by another runtime"
		}
		return fmt.Sprintf("agent %s was not called: delegates may be nested %d deep (%s)", e.Agent, e.Depth, chain)
	}
	return fmt.Sprintf("agent %s was not called: it is waiting for this call itself (%s → %s)", e.Agent, chain, e.Agent)
}
