package resolve

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Ephemeral is an agent that no revision declares: a turn brings it along, with
// tools of its own.
type Ephemeral struct {
	// Agent is the agent, which must run here. The defaults are merged under it as
	// under a declared one.
	Agent *spec.Agent
	// Tools are there besides those of the revision. The agent's catalog decides
	// about all of them.
	Tools []EphemeralTool
}

// EphemeralTool is a tool under its id.
type EphemeralTool struct {
	ID   string
	Tool tools.Tool
}

// ResolveEphemeral returns the plan of an agent that a turn brings along, in a
// revision that stays as it is. The errors are those of Resolve, without an
// *AgentNotFoundError.
func ResolveEphemeral(ctx context.Context, rev *registry.Revision, e *Ephemeral, opts Options) (*Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resolve agent %s: %w", e.Agent.ID, err)
	}
	if !e.Agent.Local() {
		return nil, &RemoteNotLocalError{Agent: e.Agent.ID, Path: "endpoint"}
	}
	x := indexOf(rev)
	if err := x.servesModel(e.Agent); err != nil {
		return nil, err
	}
	return x.compose(e.Agent, "", e.Tools, nil).plan(opts)
}

// servesModel reports that there is no such model as an agent from outside names.
// Whoever asks for many must not make the revision grow.
func (x *index) servesModel(agent *spec.Agent) error {
	id := agent.ModelID
	_, isModel := x.set.Models.Get(id)
	_, isPool := x.set.Pools.Get(id)
	if id == "" || isModel || isPool {
		return nil
	}
	near, _ := nearest.Of(id, append(append([]string(nil), x.set.Models.IDs()...), x.set.Pools.IDs()...))
	return &Error{Agent: agent.ID, Errs: []error{&ModelNotFoundError{Reference{ID: id, Agent: agent.ID, Path: "model_id", Nearest: near}}}}
}

// addBrought adds the tools that the turn brought along.
func (m *merger) addBrought() {
	source := tools.Source{Kind: tools.SourceTurn}
	for i, b := range m.brought {
		path := diag.Index("tools", i)
		if m.free(b.ID, source, path) {
			entry, found := tools.Compile(b.ID, b.Tool, source)
			m.add(b.ID, entry, found, path)
		}
	}
}
