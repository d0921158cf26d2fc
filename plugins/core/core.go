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
