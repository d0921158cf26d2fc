package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
)

// overlaid is what an overlay of a tenant was made into.
type overlaid struct {
	overlay *config.TenantOverlay
	builder *builder.AgentRuntimeBuilder
	rev     *registry.Revision
	// findings are warnings and notes about what the overlay changes.
	findings diag.List
}

// close closes what was made for the overlay.
func (o *overlaid) close() error { return o.builder.Close() }

// madeOf is what a revision of a tenant was made of.
type madeOf struct {
	tenant, overlay, base string
	// workflows and tools are those that the overlay brings.
	workflows, tools []string
}

type madeOfKey struct{}

// toolTime is how long the servers of a tenant's own tools are asked for them.
const toolTime = 10 * time.Second

// overlayName is what the overlay of a tenant is called. What its tools keep in files is
// in a directory of the tenant.
func (f *Fleet) overlayName(tenant string) string {
	const shown = 16
	sum := sha256.Sum256([]byte(tenant))
	return filepath.Join(f.settings.Dir, ".runtime", "tenants", hex.EncodeToString(sum[:])[:shown], "overlay")
}

// lay lays the stored overlay of a tenant over a base, and proves that every agent resolves and
// that none may do more than the base allows. The caller closes what it returns before
// it releases the base. The error is an *InvalidError.
func (f *Fleet) lay(ctx context.Context, base *overlayBase, tenant string, document []byte) (*overlaid, error) {
	return f.layWhen(ctx, base, tenant, config.Source{Data: document, Stored: true}, func(context.Context) (func(), error) { return func() {}, nil })
}

// layWhen is lay for a caller that waits until the processor is free for it, and for
// overlays that are not stored, too.
func (f *Fleet) layWhen(ctx context.Context, base *overlayBase, tenant string, source config.Source, free func(context.Context) (done func(), err error)) (*overlaid, error) {
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
	rev, list := o.builder.BuildOverlay(ctx)
	if err := ctx.Err(); err != nil {
		_ = o.close()
		return nil, err
	}
	o.rev = rev
	if !list.HasErrors() {
		judged, err := judgeOverlay(ctx, base, o)
		if err != nil {
			_ = o.close()
			return nil, err
		}
		list = append(list, judged...)
	}
	list = slices.Concat(found, read.Place(concerning(list, read)))
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

// bringsServers reports whether an overlay has tools whose servers have to be asked.
func bringsServers(o *config.TenantOverlay) bool {
	return slices.ContainsFunc(o.File.Tools, func(e config.Entry[toolKind]) bool { return e.Kind.Type == "mcp" && slices.Contains(o.OwnTools, e.ID) })
}

// concerning returns the errors of a list, and the warnings about what an overlay
// changes: the others are those of the base.
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
func (f *Fleet) nameSources(list diag.List, tenant string) diag.List {
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
