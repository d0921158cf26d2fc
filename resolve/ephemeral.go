package resolve

import (
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Ephemeral is an agent that a turn supplies instead of a revision, together with its tools.
type Ephemeral struct {
	// Agent is the agent, which must run here, or at a hosted provider. The defaults are merged
	// under it as for a declared agent.
	Agent *spec.Agent
	// Tools are added to the tools of the revision and replace those with the same id. The
	// agent's catalog applies to all of them.
	Tools []EphemeralTool
	// Call, if set, is all that the turn does: no model is called. Only guarding parts of the
	// agent's record, or the defaults, apply.
	Call *SingleCall
}

// EphemeralTool is a tool with its id.
type EphemeralTool struct {
	ID   string
	Tool tools.Tool
}
