package runtime

// Close closes what the components of the current revision hold open, such as
// connections to the servers that tools come from, and waits until that is done,
// for those of earlier revisions, too. It is called when no turn is under way any
// more, and may be called more than once if the components allow it.
func (r *AgentRuntime) Close() error { return r.registry.Close() }
