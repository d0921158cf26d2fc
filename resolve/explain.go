package resolve

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Explanation describes how an agent resolves, or why it does not.
type Explanation struct {
	// Agent is the agent with the defaults merged under it, and its effective context policy.
	Agent *spec.Agent
	// Origin records which parts of it came from the defaults.
	Origin spec.Origin
	// Path locates the agent in the configuration.
	Path string
	// Model or Pool is the model or pool that the agent uses. At most one is set.
	Model *spec.Model
	Pool  *spec.Pool
	// Facts are the known properties of the model or the pool's members.
	Facts []ModelFact
	// Retried reports whether model calls are wrapped for retries.
	Retried bool
	// Plugins are the agent's plugins in order, including the runtime's own.
	Plugins []execution.Loaded
	// Tools are all considered tools, in the order in which they were merged, each with its
	// outcome.
	Tools []ToolChoice
	// Trace records each stage's actions and duration.
	Trace *Trace
	// Diagnostics are the errors and warnings found.
	Diagnostics diag.List

	// env and seen are used to judge the agent's calls.
	env  *execution.Env
	seen []*toolset.Entry
}

// Explain resolves an agent again and records every choice. If the agent does not resolve, Explain
// returns the errors with a partial explanation, which is nil only if the agent does not exist.
func Explain(ctx context.Context, rev *registry.Revision, agentID string) (*Explanation, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("explain agent %s: %w", agentID, err)
	}
	x := indexOf(rev)
	if _, ok := x.set.Agent(agentID); !ok {
		return nil, x.unknownAgent(agentID)
	}
	trace := &Trace{}
	return x.newExplanation(x.resolveAgent(agentID, trace), trace)
}

// ExplainEphemeral is Explain for an ephemeral agent. The paths refer to the declared agent with
// the same id, if there is one.
func ExplainEphemeral(ctx context.Context, rev *registry.Revision, e *Ephemeral) (*Explanation, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("explain agent %s: %w", e.Agent.ID, err)
	}
	x, trace, t := indexOf(rev), &Trace{}, &template{brought: e.Tools, passing: true}
	if declared, ok := x.set.Agent(e.Agent.ID); ok {
		t.base = agentPath(x.set, declared)
	}
	return x.newExplanation(x.runStages(t, e.Agent, trace), trace)
}

// newExplanation returns an explanation of how an agent resolved, and its errors.
func (x *index) newExplanation(t *template, trace *Trace) (*Explanation, error) {
	e := &Explanation{
		Agent: t.agent, Origin: t.origin, Path: t.base,
		Model: t.model, Pool: t.pool, Facts: x.factsOf(t), Retried: t.wrapped,
		Plugins: t.loaded, Tools: t.choices, Trace: trace,
		Diagnostics: append(diag.FromError(errors.Join(t.errs...)), append(t.warnings.LimitAlike(diag.NoDescription), adaptationNotes(t.adapted)...)...),
		env:         t.env,
	}
	if t.seen != nil {
		e.seen = t.seen.entries
	}
	return e, t.joinedError()
}

// Tool returns the choice for a tool; nil if no source offers it.
func (e *Explanation) Tool(id string) *ToolChoice {
	for i := range e.Tools {
		if e.Tools[i].ID == id {
			return &e.Tools[i]
		}
	}
	return nil
}

// ToolSchemas returns the tools that the agent's catalog admits, with their parameters.
func (e *Explanation) ToolSchemas() []plugins.ToolSchema {
	list := make([]plugins.ToolSchema, len(e.seen))
	for i, entry := range e.seen {
		list[i] = plugins.ToolSchema{ID: entry.ID, Parameters: entry.Descriptor.Parameters}
	}
	return list
}

// Local returns a *RemoteNotLocalError for an agent that runs at an endpoint,
// whose model and tools only its peer knows.
func (e *Explanation) Local() error {
	if e.Agent.UsesTools() {
		return nil
	}
	return &RemoteNotLocalError{Agent: e.Agent.ID, Path: e.Origin.Path(e.Path, "endpoint")}
}
