package resolve

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Ephemeral is an agent that a turn supplies instead of a revision, together with its tools.
type Ephemeral struct {
	// Agent is the agent, which must run here, or at a hosted provider. The defaults are merged
	// under it as for a declared agent.
	Agent *spec.Agent
	// Tools are added to the tools of the revision and replace those with the same id. The
	// agent's catalog applies to all of them.
	Tools []EphemeralTool
	// Call, if set, is all that the turn does: no model is called. Only guarding parts of the
	// agent's record, or the defaults, apply.
	Call *SingleCall
}

// EphemeralTool is a tool with its id.
type EphemeralTool struct {
	ID   string
	Tool tools.Tool
}

// ResolveEphemeral returns the plan of an ephemeral agent in a revision, which it does not
// change. It returns the same errors as Resolve, except *AgentNotFoundError.
func ResolveEphemeral(ctx context.Context, rev *registry.Revision, e *Ephemeral, opts Options) (*Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resolve agent %s: %w", e.Agent.ID, err)
	}
	if !e.Agent.UsesTools() {
		return nil, &RemoteNotLocalError{Agent: e.Agent.ID, Path: "endpoint"}
	}
	agent := e.Agent
	if id := opts.Overrides.ModelID; id != "" {
		agent = agent.Clone()
		agent.UseModel(id)
	}
	x, t := indexOf(rev), &template{brought: e.Tools, passing: true, call: e.Call}
	return x.runStages(t, agent, nil).newPlan(ctx, x, opts)
}

// addBrought adds the turn's own tools. They hide global tools with the same id; two of them with
// one id are an error.
func (m *merger) addBrought() {
	source := toolset.Source{Kind: toolset.SourceTurn}
	for i, b := range m.brought {
		path := diag.Index("tools", i)
		if first, taken := m.own[b.ID]; taken {
			m.addError(&ToolIDConflictError{Agent: m.agent.ID, ToolID: b.ID, First: first.Source, Second: source, Path: path})
			continue
		}
		if hidden, ok := m.index.global[b.ID]; ok {
			m.all = slices.DeleteFunc(slices.Clone(m.all), func(e *toolset.Entry) bool { return e == hidden })
		}
		entry, found := toolset.Compile(b.ID, b.Tool, source)
		m.addTool(b.ID, entry, found, path)
	}
}
