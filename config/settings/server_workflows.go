package settings

import "cmp"

// ServerWorkflows configures the protocol of workflows.
type ServerWorkflows struct {
	Enabled   *bool `json:"enabled,omitempty" default:"true" doc:"Whether schedules, events and runs of workflows are served over HTTP, at /workflow. Workflows run with or without it."`
	MaxStarts int   `json:"max_starts,omitempty" min:"1" default:"1000" doc:"Maximum schedules and event triggers created by a tenant's callers over HTTP."`
}

// defaultMaxStarts is the default of MaxStarts.
const defaultMaxStarts = 1000

// StartLimit returns how many schedules and event triggers callers of a tenant may create.
func (w *ServerWorkflows) StartLimit() int { return cmp.Or(w.MaxStarts, defaultMaxStarts) }

// On reports whether the protocol is enabled.
func (w *ServerWorkflows) On() bool { return orDefault(w.Enabled, true) }
