package builder

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/tools"
)

// NewOverlay returns a builder for a revision with a tenant's overlay. Only the changed parts are
// built. The caller has acquired the revision and releases it after closing the builder's
// components.
func NewOverlay(base *registry.Revision, tenant string, o *config.TenantOverlay) *AgentRuntimeBuilder {
	b := New()
	b.base, b.set = base, base.Set().Clone()
	b.set.Tenant, b.set.Document = tenant, ""
	b.putWorkflows(tenant, o)
	for _, id := range o.Removed["agents"] {
		b.set.Agents.Remove(id)
	}
	for _, id := range o.Removed["tools"] {
		if !b.set.Tools.Remove(id) {
			b.addInvalid(diag.Key("patches.tools", id), "the tools of a server cannot be removed; exclude them where agents would use them")
		}
	}
	for _, e := range o.File.Tools {
		if slices.Contains(o.Tools, e.ID) {
			b.putTool(e, slices.Contains(o.OwnTools, e.ID))
		}
	}
	for _, agent := range o.File.Agents {
		if slices.Contains(o.Agents, agent.ID) {
			b.set.Agents.Put(agent.ID, agent.Clone())
		}
	}
	return b
}

// putWorkflows adds a tenant's own workflows.
func (b *AgentRuntimeBuilder) putWorkflows(tenant string, o *config.TenantOverlay) {
	for id := range b.base.Set().Workflows.All() {
		b.set.Workflows.Remove(id)
	}
	for _, w := range TenantWorkflows(b.base.Set(), tenant, o) {
		b.set.Workflows.Put(w.ID, w)
	}
}

// TenantWorkflows returns the workflows of a tenant: its workflows in the configuration with the
// overlay's changes, then the overlay's additions.
func TenantWorkflows(base *registry.Set, tenant string, o *config.TenantOverlay) (list []*workflow.Workflow) {
	changed := make(map[string]*workflow.Workflow)
	for _, w := range o.File.Workflows {
		if slices.Contains(o.Workflows, w.ID) {
			own := *w
			own.Tenant = tenant
			changed[w.ID] = &own
		}
	}
	for id, w := range base.Workflows.All() {
		owner, _ := w.Owner()
		switch {
		case owner != tenant || slices.Contains(o.Removed["workflows"], id):
		case changed[id] != nil:
			list = append(list, changed[id])
		default:
			list = append(list, w)
		}
	}
	for _, w := range o.File.Workflows {
		if slices.Contains(o.OwnWorkflows, w.ID) {
			list = append(list, changed[w.ID])
		}
	}
	return list
}

// putTool creates a tool and replaces an existing one with its id. A tenant's tool cannot reach
// private addresses except those that the base allows.
func (b *AgentRuntimeBuilder) putTool(e config.Entry[tools.Kind], brought bool) {
	path := b.set.Tools.Path(e.ID)
	if _, taken := b.base.Set().Tools.Get(e.ID); taken && brought {
		b.addError(diag.New(diag.WidenedAccess, path, "the overlay of a tenant cannot replace a tool of the configuration").WithHint("give it another id"))
		return
	}
	settings := tools.Settings{PublicOnly: brought}
	if brought && b.set.Tenants.HasOverlays() {
		settings.AllowPrivate = b.set.Tenants.May.AllowPrivate
	}
	tool := b.makeTool(e, settings)
	delete(b.set.Declarations, path) // it omits the restrictions
	_, isBundle := tool.(tools.Bundle)
	if _, taken := b.set.Tools.Get(e.ID); taken && !isBundle {
		b.set.Tools.Put(e.ID, tool)
		return
	}
	b.WithTool(e.ID, tool)
}

// BuildOverlay returns a tenant's revision and all findings. The revision is nil if ctx ended
// first.
func (b *AgentRuntimeBuilder) BuildOverlay(ctx context.Context) (*registry.Revision, diag.List) {
	found := diag.FromError(b.joinedError())
	rev, more, _ := registry.Try(ctx, b.base, b.set, resolve.Check)
	if rev == nil || ctx.Err() != nil {
		return nil, append(found, more...)
	}
	return rev, withoutAmbiguity(append(found, more...)).Dedup()
}
