package fleet

import (
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

// madeOf identifies the inputs of a tenant's revision.
type madeOf struct {
	tenant, overlay, base string
	// workflows and tools are those that the overlay brings.
	workflows, tools []string
}

type madeOfKey struct{}

// toolTime bounds listing the tools of a tenant's servers.
const toolTime = 10 * time.Second

// overlayName returns the document name of a tenant's overlay. Its tools keep their files in the
// tenant's directory.
func (c *core) overlayName(tenant string) string {
	const shown = 16
	sum := sha256.Sum256([]byte(tenant))
	return filepath.Join(c.settings.Dir, ".runtime", "tenants", hex.EncodeToString(sum[:])[:shown], "overlay")
}

// applyOverlay applies the stored overlay of a tenant to a base, and checks that every agent
// resolves and that none may do more than the base allows. The caller must close the result
// before releasing the base. The error is an *InvalidError.
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
		_ = o.close() // what is not used has nothing to say
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

// CheckOverlay checks a tenant's overlay over files, without a store: every agent must resolve and
// may do no more than the files allow. rev is the revision of the files. The diagnostics have
// places in source; agents lists the agents that the overlay adds or changes. The error is from
// ctx, or of files that cannot be published.
func CheckOverlay(ctx context.Context, file *config.File, rev *registry.Revision, tenant string, source config.Source) (list diag.List, agents []string, err error) {
	document, err := file.Document()
	if err != nil {
		return nil, nil, err
	}
	base := &overlayBase{rev: rev}
	if base.config, err = config.NewTenantBase(file, "base", document); err != nil {
		return nil, nil, err
	}
	read, found := config.ParseTenantOverlay(base.seenBy(tenant), source)
	if found.HasErrors() {
		return found, read.Agents, nil
	}
	o := &overlaid{overlay: read, builder: builder.NewOverlay(rev, tenant, read)}
	defer func() { err = errors.Join(err, o.close()) }()
	list, err = o.build(ctx, base)
	return slices.Concat(found, list), read.Agents, err
}

// bringsServers reports whether an overlay has tools whose servers have to be asked.
func bringsServers(o *config.TenantOverlay) bool {
	return slices.ContainsFunc(o.File.Tools, func(e config.Entry[toolKind]) bool { return e.Kind.Type == "mcp" && slices.Contains(o.OwnTools, e.ID) })
}

// concerning returns the errors of a list, and the warnings about the overlay's changes. Other
// warnings belong to the base.
func concerning(list diag.List, o *config.TenantOverlay) diag.List {
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		if d.Severity == diag.Error || slices.Contains(o.Agents, d.Agent) {
			return false
		}
		return !isBelowAny(d.Path, "tools", o.OwnTools) && !isBelowAny(d.Path, "workflows", o.Workflows)
	})
}

// isBelowAny reports whether a path leads to one of some entries, or below it.
func isBelowAny(path, registry string, ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		rest, ok := strings.CutPrefix(path, diag.Key(registry, id))
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// nameSources names in diagnostics the overlay and the base, and not files of the process.
func (f *Builds) nameSources(list diag.List, tenant string) diag.List {
	name := func(span *diag.Span) {
		switch span.File {
		case "":
		case f.overlayName(tenant):
			span.File = "overlay"
		default:
			span.File = "base"
		}
	}
	for i := range list {
		name(&list[i].Span)
		list[i].Related = slices.Clone(list[i].Related)
		for j := range list[i].Related {
			name(&list[i].Related[j].Span)
		}
	}
	return list
}
