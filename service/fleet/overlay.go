package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
)

// overlaid is the result of applying an overlay of a tenant.
type overlaid struct {
	overlay *config.TenantOverlay
	builder *builder.AgentRuntimeBuilder
	rev     *registry.Revision
	// findings are warnings and notes about the overlay's changes.
	findings diag.List
}

// close closes everything built for the overlay.
func (o *overlaid) close() error { return o.builder.Close() }

// concerned returns the agents that an overlay changes or removes.
func (o *overlaid) concerned() []string {
	return slices.Concat(o.overlay.Agents, o.overlay.Removed["agents"])
}

// madeOf identifies the inputs of a tenant's revision.
type madeOf struct {
	tenant, overlay, base string
	// workflows and tools are those that the overlay adds.
	workflows, tools []string
}

type madeOfKey struct{}

// toolTime limits the time for listing the tools of a tenant's servers.
const toolTime = 10 * time.Second

// overlayName returns the document name of a tenant's overlay. Its tools keep their files in the
// tenant's directory.
func (c *core) overlayName(tenant string) string {
	const shown = 16
	sum := sha256.Sum256([]byte(tenant))
	return filepath.Join(c.settings.Dir, ".runtime", "tenants", hex.EncodeToString(sum[:])[:shown], "overlay")
}

// applyOverlay applies the stored overlay of a tenant to a base, and checks that every agent
// resolves and none may do more than the base allows. The caller must close the result before
// releasing the base. The error is an *InvalidError.
func (f *Builds) applyOverlay(ctx context.Context, base *overlayBase, tenant string, document []byte) (*overlaid, error) {
	return f.applyOverlayWhen(ctx, base, tenant, config.Source{Data: document, Stored: true}, func(context.Context) (func(), error) { return func() {}, nil })
}

// applyOverlayWhen is applyOverlay for stored and unsaved overlays. It first calls free, which
// waits for processor time.
func (f *Builds) applyOverlayWhen(ctx context.Context, base *overlayBase, tenant string, source config.Source, free func(context.Context) (done func(), err error)) (*overlaid, error) {
	done, err := free(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { done() }()
	source.Name = f.overlayName(tenant)
	read, found := config.ParseTenantOverlay(base.seenBy(tenant), source)
	if found.HasErrors() {
		return nil, &InvalidError{Findings: f.nameSources(read.DecidedPaths(found), tenant)}
	}
	o := &overlaid{overlay: read, builder: builder.NewOverlay(base.rev, tenant, read)}
	if bringsServers(read) {
		done()
		if f.settings.Variables != nil {
			o.builder.ListToolsFor(f.settings.Variables(tenant))
		}
		learning, cancel := context.WithTimeout(ctx, toolTime)
		o.builder.LearnTools(learning)
		cancel()
		if done, err = free(ctx); err != nil {
			done = func() {}
			_ = o.close()
			return nil, err
		}
	}
	list, err := o.build(ctx, base)
	if err != nil {
		_ = o.close()
		return nil, err
	}
	list = slices.Concat(found, list)
	list = f.nameSources(read.DecidedPaths(list), tenant)
	if list.HasErrors() {
		_ = o.close() // never used
		return nil, &InvalidError{Findings: list}
	}
	o.findings = list
	o.rev.Derive(madeOfKey{}, func() any {
		return madeOf{tenant, config.HashDocument(read.Document), base.hash, read.OwnWorkflows, read.OwnTools}
	})
	return o, nil
}

// build resolves the overlay's agents and compares them with the base.
func (o *overlaid) build(ctx context.Context, base *overlayBase) (diag.List, error) {
	rev, list := o.builder.BuildOverlay(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.rev = rev
	if !list.HasErrors() {
		judged, err := judgeOverlay(ctx, base, o)
		if err != nil {
			return nil, err
		}
		list = append(list, judged...)
	}
	return o.overlay.Place(concerning(list, o.overlay)), nil
}

// judgeOverlay reports what a tenant's agents may do although the base does not allow it.
func judgeOverlay(ctx context.Context, base *overlayBase, o *overlaid) (diag.List, error) {
	j := &judge{rights: &base.config.Rights, base: base.rev.Set(), tenant: o.rev.Set(), overlay: o.overlay}
	j.findBases()
	diffs, err := resolve.DiffAgentsFrom(ctx, base.rev, o.rev, o.overlay.Agents, j.buildsOn)
	if err != nil {
		return nil, err
	}
	for i := range diffs {
		j.judgeClosed(&diffs[i])
		j.judgeAccess(&diffs[i])
	}
	for _, id := range o.overlay.Agents {
		j.judgeModels(id)
		j.judgeBudgets(id)
	}
	j.judgeWorkflows()
	return j.found, nil
}

// reportDiff compares agents of two revisions. The values of the variables of shown overlays are hidden.
func (c *core) reportDiff(ctx context.Context, before, after *registry.Revision, ids []string, shown ...*overlaid) (*resolve.DiffReport, error) {
	done, err := c.awaitProof(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	slices.Sort(ids)
	diffs, err := resolve.DiffAgents(ctx, before, after, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	var files []*config.File
	for _, o := range shown {
		files = append(files, o.overlay.File)
	}
	return redactDiff(resolve.NewDiffReport(diffs), c.redactors(files...)), nil
}

// OverlayRequest describes the overlay of a tenant over files, without a store.
type OverlayRequest struct {
	// File is the configuration, and Base its revision. The caller holds Base until it closes the
	// overlay.
	File *config.File
	Base *registry.Revision
	// Tenant is the tenant's name; it defaults to "tenant".
	Tenant string
	// Source is the overlay.
	Source config.Source
	// Edit, if set, applies the caller's changes of File to the overlay's agents.
	Edit func(*config.File) error
	// Learn, if set, learns the tools of servers added by the overlay.
	Learn func(context.Context, *builder.AgentRuntimeBuilder) error
}

// Overlay is a tenant's revision: its overlay over files.
type Overlay struct {
	// Revision is nil if the overlay is invalid.
	Revision *registry.Revision
	// Agents lists the agents that the overlay adds or changes.
	Agents  []string
	builder *builder.AgentRuntimeBuilder
}

// Close closes the components of the overlay.
func (o *Overlay) Close() error {
	if o.builder == nil {
		return nil
	}
	return o.builder.Close()
}

// OpenOverlay applies a tenant's overlay to files, as a server does: every agent must resolve and
// may do no more than the files allow. The diagnostics have places in the source. The error is from
// ctx, Edit or Learn, or from files that cannot be published.
func OpenOverlay(ctx context.Context, r *OverlayRequest) (*Overlay, diag.List, error) {
	document, err := r.File.Document()
	if err != nil {
		return nil, nil, err
	}
	const shownName = "base"
	name := filepath.Join(r.File.BaseDir(), shownName)
	base := &overlayBase{rev: r.Base}
	if base.config, err = config.NewTenantBase(r.File, name, document); err != nil {
		return nil, nil, err
	}
	tenant := cmp.Or(r.Tenant, "tenant")
	read, found := config.ParseTenantOverlay(base.seenBy(tenant), r.Source)
	opened := &Overlay{Agents: read.Agents}
	if found.HasErrors() {
		return opened, renameSource(found, name, shownName), nil
	}
	if r.Edit != nil {
		if err := r.Edit(read.File); err != nil {
			return nil, nil, err
		}
	}
	o := &overlaid{overlay: read, builder: builder.NewOverlay(r.Base, tenant, read)}
	opened.builder = o.builder
	if r.Learn != nil && bringsServers(read) {
		if err := r.Learn(ctx, o.builder); err != nil {
			return nil, nil, errors.Join(err, o.close())
		}
	}
	list, err := o.build(ctx, base)
	if err != nil {
		return nil, nil, errors.Join(err, o.close())
	}
	if !list.HasErrors() {
		opened.Revision = o.rev
	}
	return opened, renameSource(slices.Concat(found, list), name, shownName), nil
}

// renameSource renames a file in diagnostics.
func renameSource(list diag.List, name, shown string) diag.List {
	return renameSources(list, func(file string) string {
		if file == name {
			return shown
		}
		return file
	})
}

type toolKind = tools.Kind

// bringsServers reports whether an overlay has tools whose servers must be queried.
func bringsServers(o *config.TenantOverlay) bool {
	return slices.ContainsFunc(o.File.Tools, func(e config.Entry[toolKind]) bool { return e.Kind.Type == "mcp" && slices.Contains(o.OwnTools, e.ID) })
}

// concerning returns the list's errors, and the warnings about the overlay's changes. Other
// warnings belong to the base.
func concerning(list diag.List, o *config.TenantOverlay) diag.List {
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		if d.Severity == diag.Error || slices.Contains(o.Agents, d.Agent) {
			return false
		}
		return !isBelowAny(d.Path, "tools", o.OwnTools) && !isBelowAny(d.Path, "workflows", o.Workflows)
	})
}

// isBelowAny reports whether a path is at or below one of the entries.
func isBelowAny(path, registry string, ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		rest, ok := strings.CutPrefix(path, diag.Key(registry, id))
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// nameSources makes diagnostics name the overlay and the base instead of files of the process.
func (f *Builds) nameSources(list diag.List, tenant string) diag.List {
	return renameSources(list, func(file string) string {
		switch file {
		case "":
			return ""
		case f.overlayName(tenant):
			return "overlay"
		default:
			return "base"
		}
	})
}

// renameSources renames the files in diagnostics.
func renameSources(list diag.List, rename func(string) string) diag.List {
	for i := range list {
		list[i].File = rename(list[i].File)
		list[i].Related = slices.Clone(list[i].Related)
		for j := range list[i].Related {
			list[i].Related[j].File = rename(list[i].Related[j].File)
		}
	}
	return list
}
