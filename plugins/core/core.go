// Package core contains the runtime's own plugins, which every local agent has and no filter
// excludes.
package core

import "github.com/agentruntime/agentruntime/plugins"

// Prefix begins the ids of the runtime's own plugins; no other plugin id may have it.
const Prefix = "runtime:"

// The ids of the runtime's own plugins.
const (
	LoopActionsID     = Prefix + "loop-actions"
	MaxRoundsID       = Prefix + "max-rounds"
	StopConditionsID  = Prefix + "stop-conditions"
	LoopDetectionID   = Prefix + "loop-detection"
	ToolBudgetsID     = Prefix + "tool-budgets"
	KnowledgeCutoffID = Prefix + "knowledge-cutoff"
	SingleCallID      = Prefix + "single-call"
)

// noSections describes a plugin that claims no section.
func noSections(summary string) plugins.Descriptor { return plugins.Descriptor{Summary: summary} }

// IsStateless reports whether a plugin of this package always registers the same for an agent and
// keeps no state of a turn.
func IsStateless(p plugins.Plugin) bool {
	switch p.(type) {
	case LoopActions, MaxRounds:
		return true
	default:
		return false
	}
}
