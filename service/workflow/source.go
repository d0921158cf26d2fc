package workflow

import (
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/workflow"
)

// Published is the Source of the workflows in the current revision of a runtime.
type Published struct{ Runtime *runtime.AgentRuntime }

var _ Source = Published{}

// Workflows returns the workflows of the current revision.
func (p Published) Workflows() (list []*workflow.Workflow, revision string) {
	rev := p.Runtime.Revision()
	for _, w := range rev.Set().Workflows.All() {
		list = append(list, w)
	}
	return list, rev.Hash()
}

// Check returns what is wrong with a workflow in the current revision.
func (p Published) Check(w *workflow.Workflow) error {
	return resolve.CheckWorkflow(p.Runtime.Revision(), w).Err()
}
