package resolve

import (
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// dependencies are the inputs of resolving an agent, other than its own record and the defaults.
// As long as they are unchanged, resolving the agent again returns the same template.
type dependencies struct {
	named []dependency
	// catalog decides which global tools affect the agent.
	catalog *toolset.Filter
	// anyTool, anyPlugin and anySource are set if more than the named entries was examined, for
	// example because a pattern matched nothing or a hint was searched for.
	anyTool, anyPlugin, anySource bool
}

// dependency is one entry that was looked up, even if missing.
type dependency struct {
	kind dependencyKind
	id   string
}

type dependencyKind uint8

const (
	onModel dependencyKind = iota // a model or a pool
	onProvider
	onAgentProvider
	onPlugin
	onTool   // whether a global tool has the id
	onAgent  // an agent as shown to other agents
	onRecord // an agent's whole record
	dependencyKinds
)
