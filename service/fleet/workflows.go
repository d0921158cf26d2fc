package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	flows "github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// workflowView caches the workflows of all tenants. It builds no revisions: it reads only the
// overlays that have workflows.
type workflowView struct {
	mu sync.Mutex
	// generation is the tenant cache's generation, and mark the store's mark, at checked.
	generation, mark uint64
	checked          time.Time
	// base is the number of the runtime revision that list is based on.
	base uint64
	list []flows.Declared
	// tenants holds the tenants whose workflows differ from the base.
	tenants map[string]*tenantFlows
}

// tenantFlows are the workflows of a tenant.
type tenantFlows struct {
	state store.OverlayState
	base  uint64
	list  []flows.Declared
	// again is the time of the retry after a failed read; zero means no retry.
	again time.Time
}

// Flows reads the workflows of revisions. It is safe for concurrent use.
type Flows struct {
	*core
	builds *Builds

	workflows workflowView
}

// Workflows returns the current workflows of a tenant's revision. An empty tenant means all
// tenants.
func (f *Flows) Workflows(ctx context.Context, tenant string) ([]flows.Declared, error) {
	if tenant == "" {
		return f.allWorkflows(ctx)
	}
	rev, err := f.builds.AcquireTenant(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	made, _ := rev.Derived(madeOfKey{})
	of, _ := made.(madeOf)
	var list []flows.Declared
	for id, w := range rev.Set().Workflows.All() {
		if owner, _ := w.Owner(); owner == tenant {
			list = append(list, flows.Declared{Workflow: w, Own: slices.Contains(of.workflows, id)})
		}
	}
	return list, nil
}

// Begin returns the revision in which a run of a tenant begins, and one of its workflows.
func (f *Flows) Begin(ctx context.Context, tenant, id string) (w *workflow.Workflow, revision string, err error) {
	rev, err := f.builds.AcquireTenant(ctx, tenant)
	if err != nil {
		return nil, "", err
	}
	defer rev.Release()
	if err := f.builds.Record(ctx, rev); err != nil {
		return nil, "", err
	}
	if belongsTo(rev.Set(), id, tenant) {
		w, _ = rev.Set().Workflows.Get(id)
	}
	return w, rev.Hash(), nil
}

// Check returns the problems of a workflow in the revision of a tenant.
func (f *Flows) Check(ctx context.Context, tenant string, w *workflow.Workflow) error {
	rev, err := f.builds.AcquireTenant(ctx, tenant)
	if err != nil {
		return err
	}
	defer rev.Release()
	list := resolve.CheckWorkflow(rev, w)
	if tenants := rev.Set().Tenants; tenants.HasOverlays() {
		list = append(list, checkSchedules(tenants.May, w)...)
	}
	steps := w.AllSteps()
	for i := range steps {
		if call := steps[i].Tool; call != nil {
			list = append(list, checkCall(rev, pathOfStep(w, i), call.Name)...)
		}
	}
	return list.Err()
}

// CheckCall returns an error if a step of a workflow made by a tenant's caller must not call a tool
// in the tenant's current revision.
func (f *Flows) CheckCall(ctx context.Context, tenant, tool string) error {
	rev, err := f.builds.AcquireTenant(ctx, tenant)
	if err != nil {
		return err
	}
	defer rev.Release()
	return checkCall(rev, "", tool).Err()
}

// checkCall reports a call that a caller's workflow must not make in its tenant's revision: if
// tenants have overlays, callers may do no more than the overlays may.
func checkCall(rev *registry.Revision, path, tool string) diag.List {
	set := rev.Set()
	if !set.Tenants.HasOverlays() || set.Tenants.May.Workflows.MayCall(tool) {
		return nil
	}
	made, _ := rev.Derived(madeOfKey{})
	if of, ok := made.(madeOf); ok && slices.Contains(of.tools, set.Tools.Owner(tool)) {
		return nil
	}
	return diag.List{refusedCall(path, tool)}
}

// allWorkflows returns the workflows of all tenants. Unless something is published, it queries the
// store for one number a second.
func (f *Flows) allWorkflows(ctx context.Context) ([]flows.Declared, error) {
	v := &f.workflows
	v.mu.Lock()
	defer v.mu.Unlock()
	base := f.settings.Runtime.AcquireRevision()
	defer base.Release()
	generation, now := f.builds.tenants.generation.Load(), f.settings.Clock()
	fresh := v.base == base.Number() && !v.failed(now)
	if fresh && v.generation == generation && now.Sub(v.checked) < pollInterval && !now.Before(v.checked) {
		return v.list, nil
	}
	var mark uint64
	if f.builds.AnyTenants() {
		var err error
		if mark, err = f.settings.Store.OverlayMark(ctx); err != nil {
			return nil, err
		}
	}
	if !fresh || mark != v.mark {
		if err := f.readWorkflows(ctx, base); err != nil {
			return nil, err
		}
	}
	v.generation, v.mark, v.checked, v.base = generation, mark, now, base.Number()
	return v.list, nil
}

// failed reports whether a tenant's workflows must be read again.
func (v *workflowView) failed(now time.Time) bool {
	for _, t := range v.tenants {
		if !t.again.IsZero() && !now.Before(t.again) {
			return true
		}
	}
	return false
}

// readWorkflows reads the changed workflows of all tenants whose overlays have any.
func (f *Flows) readWorkflows(ctx context.Context, base *registry.Revision) error {
	v := &f.workflows
	tenants := make(map[string]*tenantFlows)
	var names []string
	for after := ""; f.builds.AnyTenants(); {
		page, err := f.settings.Store.WorkflowOverlays(ctx, after, store.MaxPage)
		if err != nil {
			return err
		}
		for _, o := range page {
			tenants[o.Tenant] = f.refreshFlows(ctx, v.tenants[o.Tenant], base.Number(), o)
			names, after = append(names, o.Tenant), o.Tenant
		}
		if len(page) < store.MaxPage {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	v.tenants, v.list = tenants, nil
	for _, w := range base.Set().Workflows.All() {
		if owner, _ := w.Owner(); tenants[owner] == nil {
			v.list = append(v.list, flows.Declared{Workflow: w})
		}
	}
	for _, name := range names {
		v.list = append(v.list, tenants[name].list...)
	}
	return nil
}

// refreshFlows returns the workflows of a tenant. It returns the known ones if nothing has changed
// or reading fails.
func (f *Flows) refreshFlows(ctx context.Context, known *tenantFlows, base uint64, o store.TenantOverlay) *tenantFlows {
	now := f.settings.Clock()
	if known != nil && known.state == o.OverlayState && known.base == base && (known.again.IsZero() || now.Before(known.again)) {
		return known
	}
	next := &tenantFlows{state: o.OverlayState, base: base}
	var err error
	if next.list, err = f.flowsOf(ctx, o); err != nil && ctx.Err() == nil {
		f.settings.Logger.Warn("reading the workflows of a tenant failed", zap.String("tenant", o.Tenant), zap.Error(err))
		next.again = now.Add(retryInterval)
		if known != nil && known.state == o.OverlayState {
			next.list = known.list
		}
	}
	return next
}

// flowsOf reads the workflows of a tenant.
func (f *Flows) flowsOf(ctx context.Context, o store.TenantOverlay) ([]flows.Declared, error) {
	base, err := f.builds.acquireBase(ctx, o.Base)
	if err != nil {
		return nil, err
	}
	defer base.rev.Release()
	r, err := f.settings.Store.Revision(ctx, o.Tenant, o.Hash)
	if err != nil {
		return nil, err
	}
	read, found := config.ParseTenantOverlay(base.seenBy(o.Tenant), config.Source{Name: f.overlayName(o.Tenant), Data: r.Document})
	if found.HasErrors() {
		return nil, fmt.Errorf("%w: the overlay of the tenant does not resolve: %w", service.ErrRevisionGone, found.Err())
	}
	var list []flows.Declared
	for _, w := range builder.TenantWorkflows(base.rev.Set(), o.Tenant, read) {
		list = append(list, flows.Declared{Workflow: w, Own: slices.Contains(read.OwnWorkflows, w.ID)})
	}
	return list, nil
}

// noteOverlays invalidates the cached state of tenants if one has published unnoticed by this
// process.
func (f *Flows) noteOverlays(ctx context.Context) {
	if !f.builds.AnyTenants() {
		return
	}
	mark, err := f.settings.Store.OverlayMark(ctx)
	if err == nil && f.builds.tenants.mark.Swap(mark) != mark {
		f.builds.noteChange()
	}
}
