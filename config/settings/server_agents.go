package settings

import (
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// ServerAgents configures the agents API.
type ServerAgents struct {
	Enabled *bool          `json:"enabled,omitempty" default:"true" doc:"Whether declared agents can be run over HTTP, at /agents/NAME."`
	Agents  spec.Names     `json:"agents,omitempty" doc:"Globs for the ids of agents served at /agents/NAME. Defaults to all. Others appear not to exist there but may still be delegates."`
	MaxWait *spec.Duration `json:"max_wait,omitempty" doc:"Maximum wait of a request to /waitForSnapshot. Then it returns the current snapshot. If absent, it waits until the turn ends."`
}

// On reports whether the protocol is enabled.
func (a *ServerAgents) On() bool { return orDefault(a.Enabled, true) }

// WaitTime returns how long a request waits for a snapshot; 0 means until the turn has ended.
func (a *ServerAgents) WaitTime() time.Duration { return orDefault(a.MaxWait, 0).Std() }

// Validate checks the settings.
func (a *ServerAgents) Validate() diag.List {
	return append(checkGlobs("agents", a.Agents), check.PositiveSpan("max_wait", a.MaxWait)...)
}
