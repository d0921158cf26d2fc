package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"go.uber.org/zap"
)

// Catalog lists the declared entries that a caller may use. All other entries appear not to exist.
type Catalog struct {
	set    *registry.Set
	caller Caller
}

// NewCatalog returns the entries of a set that a caller may use.
func NewCatalog(set *registry.Set, caller Caller) *Catalog {
	return &Catalog{set: set, caller: caller}
}

// Agents reads the declarations of the current revisions for a tenant. It is safe for concurrent
// use.
type Agents struct{ *core }

// Catalog returns the entries currently declared for the caller's tenant that the caller may use.
// It is empty if they cannot be determined. The service must have a runtime.
func (a *Agents) Catalog(ctx context.Context, caller Caller) *Catalog {
	return NewCatalog(a.SetFor(ctx, caller.Tenant), caller)
}

// SetFor returns the current declarations for a tenant, or an empty set if they cannot be
// determined. Do not call its components.
func (a *Agents) SetFor(ctx context.Context, tenant string) *registry.Set {
	rev, err := a.acquireRevision(ctx, tenant)
	if err != nil {
		a.settings.Logger.Warn("reading the configuration of a tenant failed", zap.String("tenant", tenant), zap.Error(err))
		return registry.NewSet()
	}
	defer rev.Release()
	return rev.Set()
}

// ToolsOf returns all tools of an ephemeral agent of a tenant, with what its catalog and
// plugins decide about each. Problems of the agent itself are not errors.
func (a *Agents) ToolsOf(ctx context.Context, tenant string, agent *spec.Agent) ([]resolve.ToolChoice, error) {
	rev, err := a.acquireRevision(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	e, err := resolve.ExplainEphemeral(ctx, rev, &resolve.Ephemeral{Agent: agent})
	if e == nil {
		return nil, err
	}
	return e.Tools, nil
}

// GuardedTools returns the tools that an agent of a tenant may not call without an approval, each
// with the reason: see resolve.GuardedTools.
func (a *Agents) GuardedTools(ctx context.Context, tenant string) (map[string]string, error) {
	rev, err := a.acquireRevision(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	return resolve.GuardedTools(rev), nil
}

// acquireRevision returns the revision in which new turns of a tenant start.
func (c *core) acquireRevision(ctx context.Context, tenant string) (*registry.Revision, error) {
	if t := c.settings.Tenants; t != nil && t.AnyTenants() {
		return t.AcquireTenant(ctx, tenant)
	}
	return c.settings.Runtime.AcquireRevision(), nil
}

// acquirePinned returns the revision in which an agent's turn starts: the revision with the hash,
// or the tenant's current one if the hash is empty or turns always continue in the latest
// revision.
func (c *core) acquirePinned(ctx context.Context, tenant, hash, agentID string) (*registry.Revision, error) {
	current, err := c.acquireRevision(ctx, tenant)
	if hash == "" || c.settings.Revision == RevisionLatest || err == nil && current.Hash() == hash {
		return current, err
	}
	pinned, findErr := c.pool.FindRevision(ctx, hash, agentID)
	if errors.Is(findErr, ErrRevisionGone) && c.settings.latestIfGone() {
		return current, err
	}
	if err == nil {
		current.Release()
	}
	return pinned, findErr
}

// pinPublished returns the hash of the revision of a published document, in which a turn of an
// agent is to start. The error is an *InvalidError if turns of the tenant cannot start in it.
func (c *core) pinPublished(ctx context.Context, tenant, document, agentID string) (string, error) {
	if c.settings.Runtime == nil || c.settings.Revision == RevisionLatest {
		return "", &InvalidError{"revision", "turns of this server run in the latest revision only"}
	}
	current, err := c.acquireRevision(ctx, tenant)
	if err != nil {
		return "", err
	}
	defer current.Release()
	if current.Hash() != c.settings.Runtime.Revision().Hash() {
		return "", &InvalidError{"revision", "the tenant has an overlay, which earlier revisions do not have"}
	}
	hash, err := c.pool.PinPublished(ctx, document, agentID)
	if errors.Is(err, ErrRevisionGone) {
		return "", &InvalidError{"revision", fmt.Sprintf("%q cannot be used: %v", clip.Text(document), err)}
	}
	return hash, err
}

// Revision returns the current revision; nil for a read-only service.
func (a *Agents) Revision() *registry.Revision {
	if a.settings.Runtime == nil {
		return nil
	}
	return a.settings.Runtime.Revision()
}

// Agent returns an agent that the caller may use. The error is a
// *resolve.AgentNotFoundError without a nearest agent.
func (c *Catalog) Agent(id string) (*spec.Agent, error) {
	agent, ok := c.set.Agent(id)
	if !ok || !c.caller.Agents.Has(id) {
		return nil, agentNotFound(id)
	}
	return agent, nil
}

// Agents returns the declared agents that the caller may use, in their order.
func (c *Catalog) Agents() iter.Seq2[string, *spec.Agent] {
	return func(yield func(string, *spec.Agent) bool) {
		for id, agent := range c.set.Agents.All() {
			if c.caller.Agents.Has(id) && !yield(id, agent) {
				return
			}
		}
	}
}

// Tools returns the ids of the tools that the caller may give to ephemeral agents: all tools, or
// the locally executed tools of the agents that the caller may use.
func (c *Catalog) Tools() []string {
	ids := c.set.Tools.IDs()
	if c.caller.Agents == nil {
		return ids
	}
	var filters []*toolset.Filter
	for _, declared := range c.Agents() {
		if agent, _ := c.set.Defaults.Apply(declared); agent.UsesTools() {
			filter, _ := toolset.CompileFilter(agent) // an invalid pattern matches nothing
			filters = append(filters, filter)
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return !slices.ContainsFunc(filters, func(filter *toolset.Filter) bool { return filter.Decide(id).Visible })
	})
}

// Summaries returns, by ID, how agents resolve for the caller's tenant. Agents that the caller may
// not use are omitted.
func (a *Agents) Summaries(ctx context.Context, caller Caller, agents []string) (map[string]*resolve.Summary, error) {
	rev, err := a.acquireRevision(ctx, caller.Tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	list := make(map[string]*resolve.Summary, len(agents))
	for _, id := range agents {
		if !caller.Agents.Has(id) {
			continue
		}
		e, err := resolve.Explain(ctx, rev, id)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if e != nil {
			list[id] = resolve.Summarize(id, e, diag.FromError(err))
		}
	}
	return list, nil
}
