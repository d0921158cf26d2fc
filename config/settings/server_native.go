package settings

// ServerNative configures the runtime's own protocol.
type ServerNative struct {
	Enabled *bool `json:"enabled,omitempty" default:"true" doc:"Whether sessions and turns can be listed, created and followed over HTTP, at /runtime/v1, as by commands with --server."`
}

// On reports whether the protocol is enabled.
func (n *ServerNative) On() bool { return orDefault(n.Enabled, true) }
