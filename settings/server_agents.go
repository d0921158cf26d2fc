package settings

// ServerAgents configures the agents API.
type ServerAgents struct {
	Enabled *bool `json:"enabled,omitempty" default:"true" doc:"Whether declared agents can be run over HTTP, at /agents/NAME."`
}

// On reports whether the protocol is answered.
func (a *ServerAgents) On() bool { return orDefault(a.Enabled, true) }
