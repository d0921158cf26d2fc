package service

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"go.uber.org/zap"
)

// Catalog is what a caller may use of what is declared. The rest looks as if it did
// not exist.
type Catalog struct {
	set    *registry.Set
	caller Caller
}

// NewCatalog returns what a caller may use of a set.
func NewCatalog(set *registry.Set, caller Caller) *Catalog {
	return &Catalog{set: set, caller: caller}
}

// Catalog returns what a caller may use of what is declared now for its tenant: nothing
// if that cannot be told. The service must have a runtime.
func (s *Service) Catalog(ctx context.Context, caller Caller) *Catalog {
	return NewCatalog(s.SetFor(ctx, caller.Tenant), caller)
}

// SetFor returns what is declared now for a tenant; an empty set if that
// cannot be told. Nothing of it is called.
func (s *Service) SetFor(ctx context.Context, tenant string) *registry.Set {
	rev, err := s.acquireRevision(ctx, tenant)
	if err != nil {
		s.settings.Logger.Warn("reading the configuration of a tenant failed", zap.String("tenant", tenant), zap.Error(err))
		return registry.NewSet()
	}
	defer rev.Release()
	return rev.Set()
}

// GuardedTools returns the tools that an agent of a tenant may not call without being asked,
// each with the reason: see resolve.GuardedTools.
func (s *Service) GuardedTools(ctx context.Context, tenant string) (map[string]string, error) {
	rev, err := s.acquireRevision(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	return resolve.GuardedTools(rev), nil
}

// acquireRevision returns the revision in which the turns of a tenant begin.
func (s *Service) acquireRevision(ctx context.Context, tenant string) (*registry.Revision, error) {
	if t := s.settings.Tenants; t != nil && t.AnyTenants() {
		return t.AcquireTenant(ctx, tenant)
	}
	return s.settings.Runtime.AcquireRevision(), nil
}

// acquirePinned returns the revision with a hash, in which a turn of an agent is to begin:
// that of its tenant if the hash is empty, or if turns go on in that anyway.
func (s *Service) acquirePinned(ctx context.Context, tenant, hash, agentID string) (*registry.Revision, error) {
	current, err := s.acquireRevision(ctx, tenant)
	if hash == "" || s.settings.Revision == RevisionLatest || err == nil && current.Hash() == hash {
		return current, err
	}
	pinned, findErr := s.pool.FindRevision(ctx, hash, agentID)
	if errors.Is(findErr, ErrRevisionGone) && s.settings.latestIfGone() {
		return current, err
	}
	if err == nil {
		current.Release()
	}
	return pinned, findErr
}

// Revision returns what is declared now; nil for a service that only looks.
func (s *Service) Revision() *registry.Revision {
	if s.settings.Runtime == nil {
		return nil
	}
	return s.settings.Runtime.Revision()
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

// Tools returns the ids of the tools that the caller may name for agents that it
// brings along: all, or those of the agents that it may use
// and whose calls run here.
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
