package settings

// ServerWorkflows configures the protocol of workflows.
type ServerWorkflows struct {
	Enabled *bool `json:"enabled,omitempty" default:"true" doc:"Whether schedules, events and runs of workflows are served over HTTP, at /workflow. Workflows run with or without it."`
}

// On reports whether the protocol is answered.
func (w *ServerWorkflows) On() bool { return orDefault(w.Enabled, true) }
