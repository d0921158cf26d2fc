// Package resolve turns a declared agent into a runnable plan. It has three stages, each in its
// own file: look up the model, assemble the plugins, and collect the tools.
//
// Results that depend only on the revision are computed once and kept with it; everything else is
// rebuilt by each Resolve.
package resolve

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Options control how an agent is resolved. The zero value resolves any agent.
type Options struct {
	// LocalOnly rejects an endpoint-backed agent with a *RemoteNotLocalError.
	LocalOnly bool
	// Overrides replace settings of the agent for one turn.
	Overrides Overrides
	// Variables are the turn's values for the agent's prompt.
	Variables Variables
}

// Plan is the outcome of resolving an agent in a revision. Local is set for an agent
// whose tools run here, and Remote for one with an endpoint; for an agent at a hosted
// provider both are.
type Plan struct {
	Revision *registry.Revision
	// Agent is the agent with the defaults merged under it, and its effective context policy:
	// section, defaults and limits of the model applied. It is read-only.
	Agent *spec.Agent
	// Local is the environment of an agent that runs on the local loop, or, without a model, of an
	// agent at a hosted provider. It belongs to the turn that was resolved for.
	Local *backend.ExecutionEnv
	// Remote is the backend of an endpoint-backed agent.
	Remote backend.Backend
	// Model is the model's id, or the pool's.
	Model string
	// Retried reports whether model calls are wrapped for retries.
	Retried bool
	// Warnings are probable mistakes. They never prevent an agent from resolving.
	Warnings diag.List
}

// Resolve returns the plan of an agent. It is pure: the same agent in the same revision yields
// the same plan, with a new execution environment. The error is an *AgentNotFoundError, a
// *RemoteNotLocalError, a *VariablesError, or an *Error that joins all problems; there is no
// partial plan.
func Resolve(ctx context.Context, rev *registry.Revision, agentID string, opts Options) (*Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resolve agent %s: %w", agentID, err)
	}
	x := indexOf(rev)
	t := x.templateOf(agentID)
	if t == nil {
		return nil, x.unknownAgent(agentID)
	}
	if opts.Overrides.ModelID != "" && t.agent.UsesTools() {
		declared, _ := rev.Set().Agent(agentID)
		return ResolveEphemeral(ctx, rev, &Ephemeral{Agent: declared}, opts)
	}
	return t.newPlan(ctx, x, opts)
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

// newPlan instantiates the template for one turn in a revision.
func (t *template) newPlan(ctx context.Context, x *index, opts Options) (*Plan, error) {
	if opts.LocalOnly && !t.agent.Local() {
		return nil, &RemoteNotLocalError{Agent: t.agent.ID, Path: t.pathOf("endpoint")}
	}
	if err := t.joinedError(); err != nil {
		return nil, err
	}
	v, err := t.newVariant(x, &opts.Overrides)
	if err != nil {
		return nil, err
	}
	agent, err := t.fillAgent(ctx, x.rev, v.agent, &opts.Variables)
	if err != nil {
		return nil, err
	}
	if t.remote != nil && !t.agent.Hosted() {
		return &Plan{Revision: x.rev, Agent: agent, Remote: t.remote, Model: t.agent.ModelID, Retried: t.wrapped, Warnings: t.warnings}, nil
	}
	env, err := t.instantiatePlugins(&v)
	if err != nil {
		return nil, err
	}
	set, err := t.instantiateTools(env)
	if err != nil {
		return nil, err
	}
	local := &struct {
		plan Plan
		env  backend.ExecutionEnv
	}{Plan{Revision: x.rev, Agent: agent, Remote: t.remote, Model: t.agent.ModelID, Retried: t.wrapped, Warnings: t.warnings}, backend.ExecutionEnv{
		Model: t.executor, Upstream: t.upstream, Pool: t.pool != nil, Env: env, Tools: opts.Overrides.narrowTools(set), Offered: opts.Overrides.narrowTools(t.offered.set()).Declarations(),
		ModelID: t.agent.ModelID, Provider: t.provider, Providers: t.providers, Pricing: t.prices, Output: v.form,
		MaxOutput: t.outputLimit, ModelOutput: t.capabilities.MaxOutput, Tenant: tenantVariablesOf(x.rev, opts.Variables.Tenant),
		Calling: backend.Calling{First: opts.Overrides.ToolChoice, Max: opts.Overrides.MaxCalls},
	}}
	local.plan.Local = &local.env
	return &local.plan, nil
}

// instantiatePlugins registers the plugins for this turn. It reuses the plugins of the dry run if
// all are stateless and the turn overrides nothing.
func (t *template) instantiatePlugins(v *variant) (*execution.Env, error) {
	if v.agent == t.agent && !slices.ContainsFunc(t.loaded, func(l execution.Loaded) bool { return !l.Stateless }) {
		return t.env, nil
	}
	env, errs := execution.Build(v.agent, v.loaded, t.sections)
	if len(errs) == 0 {
		return env, nil
	}
	// The dry run passed, so a plugin's results vary between calls; the turn must not run without
	// it.
	e := &Error{Agent: t.agent.ID}
	for _, err := range errs {
		e.Errs = append(e.Errs, t.envBuildError(err))
	}
	return nil, e
}

// instantiateTools returns the agent's tools with the instances that this turn's
// plugins registered.
func (t *template) instantiateTools(env *execution.Env) (*toolset.Set, error) {
	fresh, known := env.Tools(), t.env.Tools()
	if len(fresh) == 0 && len(known) == 0 {
		return t.seen.set(), nil
	}
	same := len(fresh) == len(known)
	for i := 0; same && i < len(fresh); i++ {
		same = fresh[i].ID == known[i].ID
	}
	if !same {
		return nil, &Error{Agent: t.agent.ID, Errs: []error{&EnvBuildError{
			Agent: t.agent.ID, Path: t.pathOf("plugin_ids"),
			Err: fmt.Errorf("the plugins register other tools than when the revision was published"),
		}}}
	}
	return t.seen.set().Instantiate(func(id string) tools.Tool {
		for i := range fresh {
			if fresh[i].ID == id {
				return fresh[i].Tool
			}
		}
		return nil
	}), nil
}
