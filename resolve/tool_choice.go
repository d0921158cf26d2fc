package resolve

import (
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// ToolChoice is the decision on one tool.
type ToolChoice struct {
	ID     string           `json:"id"`
	Source toolset.Source   `json:"source"`
	Rule   toolset.Decision `json:"catalog"`
	// Verdict is the verdict of the plugins' gates on the tool.
	Verdict plugins.Verdict `json:"gate"`
}

// Offered reports whether the tool is offered to the model.
func (c *ToolChoice) Offered() bool {
	return c.Rule.Visible && c.Verdict.Access != plugins.AccessDeny
}
