package mcp

import "github.com/agentruntime/agentruntime/internal/toolname"

// toolID returns the ID of a server's tool: the prefix and the name, in a form that models accept.
// It does not depend on other tools.
func toolID(prefix, name string) string { return toolname.ID.Fit(prefix + name) }
