package settings

// ServerAdmin configures the protocol that reads and changes the configuration.
type ServerAdmin struct {
	Enabled *bool `json:"enabled,omitempty" default:"true" doc:"Whether the configuration can be read and changed over HTTP, at /runtime/v1, with the scopes config:read and config:write."`
}

// On reports whether the protocol is enabled.
func (a *ServerAdmin) On() bool { return orDefault(a.Enabled, true) }
