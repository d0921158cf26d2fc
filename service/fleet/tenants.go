package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Tenants returns a page of the current revisions of tenants with overlays, sorted by tenant. The
// page comes after a name, and next is the name for the next page; empty on the last page.
func (f *Fleet) Tenants(ctx context.Context, after string, limit int) (tenants []*Revision, next string, err error) {
	page, err := f.settings.Store.Overlays(ctx, store.OverlayQuery{After: after, Limit: limit})
	return page.Overlays, page.Next, err
}

// Tenant is a tenant's overlay over the base, with its revisions. It is safe for concurrent use.
type Tenant struct {
	lineage

	fleet *Fleet
}

// Tenant returns the overlay of a tenant, which may not exist yet.
func (f *Fleet) Tenant(name string) *Tenant { return &Tenant{lineage{f.settings.Store, name}, f} }

// Name returns the name of the tenant.
func (t *Tenant) Name() string { return t.tenant }

// Current returns the current revision of the overlay. It returns a *NotFoundError for a tenant
// without an overlay.
func (t *Tenant) Current(ctx context.Context) (*Revision, error) {
	r, err := t.fleet.settings.Store.CurrentRevision(ctx, t.tenant)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &NotFoundError{Kind: "tenants", ID: t.tenant}
	}
	return r, err
}

// HeldOver returns the hash of the older base that the tenant keeps using because its overlay
// does not resolve over the current one; empty if it uses the current one.
func (t *Tenant) HeldOver(ctx context.Context) (string, error) {
	state, err := t.fleet.settings.Store.Overlay(ctx, t.tenant)
	return state.Base, err
}

// maxOverlay limits a tenant's overlay, in bytes; reading it takes a multiple of that.
const maxOverlay = 1 << 20

// Publish is Fleet.Publish for the overlay: it checks that the overlay resolves over the base and
// does no more than the base allows. The report compares it with the tenant's current state. It may
// also return ErrNoTenants.
func (t *Tenant) Publish(ctx context.Context, c *Change) (*Published, error) {
	if !t.fleet.settings.FromStore && !c.DryRun {
		return nil, ErrFromFiles
	}
	if n := len(c.Document); n > maxOverlay {
		return nil, &InvalidError{Findings: diag.List{diag.New(diag.InvalidValue, "", "the overlay has %d bytes; at most %d are allowed", n, maxOverlay)}}
	}
	leave, err := t.fleet.editing.Acquire(ctx, t.tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	out, err := t.publishOverBase(ctx, c)
	return t.fleet.endPublish(ctx, t.tenant, c, out, err)
}

// applyOverlay applies an overlay of the tenant to a base for a caller.
func (t *Tenant) applyOverlay(ctx context.Context, base *overlayBase, source config.Source) (*overlaid, error) {
	return t.fleet.applyOverlayWhen(ctx, base, t.tenant, source, t.fleet.awaitProof)
}

// baseTries limits how often an overlay is checked after changes of the base.
const baseTries = 5

// publishOverBase publishes the overlay, checking it again if the base changes in the meantime.
func (t *Tenant) publishOverBase(ctx context.Context, c *Change) (out *Published, err error) {
	for range baseTries {
		if out, err = t.publish(ctx, c); !errors.Is(err, store.ErrBaseChanged) {
			return out, err
		}
		if err := t.fleet.catchUp(ctx); err != nil {
			return out, err
		}
	}
	return out, err
}

func (t *Tenant) publish(ctx context.Context, c *Change) (*Published, error) {
	f, out := t.fleet, new(Published)
	base, err := f.acquireBase(ctx, "")
	if err != nil {
		return out, err
	}
	defer base.rev.Release()
	made, err := t.applyOverlay(ctx, base, config.Source{Data: c.Document})
	if err != nil {
		return out, err
	}
	defer func() { _ = made.close() }() // turns build their revision on demand
	out.Hash, out.Findings = config.HashDocument(made.overlay.Document), made.findings
	if out.Unchanged, err = f.checkExpected(ctx, t.tenant, c, out.Hash); err != nil {
		return out, err
	}
	if out.Diff, err = t.compare(ctx, base, made); err != nil {
		return out, err
	}
	if err := c.checkEffect(out.Diff, nil); err != nil {
		return out, err
	}
	if c.DryRun {
		return out, nil
	}
	findings, err := encodeFindings(out.Findings)
	if err != nil {
		return out, err
	}
	published, err := f.settings.Store.PublishRevision(ctx, &store.PublishRevision{
		Revision: store.Revision{
			Tenant: t.tenant, Hash: out.Hash, Document: made.overlay.Document, Author: c.Author, Note: c.Note, Findings: findings, CreatedAt: f.settings.Clock(),
		},
		Expected: c.Expected, Base: base.hash, HasWorkflows: made.overlay.HasWorkflows(), Attempt: f.newAttempt(t.tenant, c, out.Hash, findings),
	})
	if err != nil {
		return out, err
	}
	out.Number, out.recorded = published.Number, true
	f.settings.Logger.Info("overlay published", zap.String("tenant", t.tenant), zap.Uint64("number", published.Number),
		zap.String("document", published.Hash), zap.String("author", published.Author))
	f.noteChange()
	f.settings.Notify()
	return out, nil
}

// compare compares an overlay with the tenant's current state: its overlay over the current base,
// or just the base if the overlay does not resolve there.
func (t *Tenant) compare(ctx context.Context, base *overlayBase, made *overlaid) (*resolve.DiffReport, error) {
	before, ids := base.rev, slices.Clone(made.concerned())
	current, err := t.Current(ctx)
	if _, none := errors.AsType[*NotFoundError](err); !none && err != nil {
		return nil, err
	}
	if current != nil {
		known, err := t.applyOverlay(ctx, base, config.Source{Data: current.Document, Stored: true})
		if err == nil {
			defer func() { _ = known.close() }()
			before = known.rev
			ids = append(ids, known.concerned()...)
		} else if ctx.Err() != nil {
			return nil, err
		}
	}
	report, err := t.fleet.reportDiff(ctx, before, made.rev, ids, made)
	if err != nil {
		return nil, err
	}
	var document []byte
	if current != nil {
		document = current.Document
	}
	return report, report.AddEntries(document, made.overlay.Document)
}

// Rollback publishes an earlier overlay again.
func (t *Tenant) Rollback(ctx context.Context, hash string, c *Change) (*Published, error) {
	return t.rollBack(ctx, hash, c, t.Publish)
}

// Diff compares two revisions of the overlay over the current base, for the agents that they
// change. An empty from means the base alone.
func (t *Tenant) Diff(ctx context.Context, from, to string) (*resolve.DiffReport, error) {
	leave, err := t.fleet.editing.Acquire(ctx, t.tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	base, err := t.fleet.acquireBase(ctx, "")
	if err != nil {
		return nil, err
	}
	defer base.rev.Release()
	before, after := base.rev, base.rev
	var shown []*overlaid
	var ids []string
	var documents [2][]byte
	for i, side := range []struct {
		hash string
		rev  **registry.Revision
	}{{from, &before}, {to, &after}} {
		if side.hash == "" {
			continue
		}
		r, err := t.Revision(ctx, side.hash)
		if err != nil {
			return nil, err
		}
		made, err := t.applyOverlay(ctx, base, config.Source{Data: r.Document, Stored: true})
		if err != nil {
			return nil, fmt.Errorf("revision %d does not resolve over the current base: %w", r.Number, err)
		}
		defer func() { _ = made.close() }()
		*side.rev, documents[i] = made.rev, r.Document
		shown, ids = append(shown, made), append(ids, made.concerned()...)
	}
	report, err := t.fleet.reportDiff(ctx, before, after, ids, shown...)
	if err != nil {
		return nil, err
	}
	return report, report.AddEntries(documents[0], documents[1])
}

// Validate proves an overlay without storing anything, like Fleet.Validate.
func (t *Tenant) Validate(ctx context.Context, document []byte) (diag.List, *resolve.DiffReport, error) {
	return dryRun(ctx, document, t.Publish)
}

// Diagnostics returns the known problems of the overlay's changes, over the tenant's base.
// Without an overlay it returns nothing.
func (t *Tenant) Diagnostics(ctx context.Context) (diag.List, error) {
	leave, err := t.fleet.editing.Acquire(ctx, t.tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	state, err := t.fleet.settings.Store.Overlay(ctx, t.tenant)
	if err != nil || state.Hash == "" {
		return nil, err
	}
	r, err := t.Revision(ctx, state.Hash)
	if err != nil {
		return nil, err
	}
	base, err := t.fleet.acquireBase(ctx, state.Base)
	if err != nil {
		return nil, err
	}
	defer base.rev.Release()
	made, err := t.applyOverlay(ctx, base, config.Source{Data: r.Document, Stored: true})
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		return invalid.Findings, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = made.close() }()
	return made.findings, nil
}

// Explain describes how an agent resolves for the tenant, like Fleet.Explain.
func (t *Tenant) Explain(ctx context.Context, agentID string) (json.RawMessage, error) {
	rev, err := t.fleet.AcquireTenant(ctx, t.tenant)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	decisions, err := t.decisions(ctx, rev, agentID)
	if err != nil {
		return nil, err
	}
	return t.fleet.explain(ctx, rev, agentID, decisions, func(*resolve.Summary) map[string]string { return nil })
}

// decisions returns where an agent's fields were decided, in the base or in the overlay of a
// revision.
func (t *Tenant) decisions(ctx context.Context, rev *registry.Revision, agentID string) ([]config.Decision, error) {
	made, _ := rev.Derived(madeOfKey{})
	of, isOverlaid := made.(madeOf)
	if !isOverlaid {
		return t.fleet.currentFile().DocumentDecisions(agentID, ""), nil
	}
	base, err := t.fleet.readBase(ctx, of.base)
	if err != nil {
		return nil, err
	}
	overlay, err := t.Revision(ctx, of.overlay)
	if err != nil {
		return nil, err
	}
	read, _ := config.ParseTenantOverlay(base, config.Source{Name: t.fleet.overlayName(t.tenant), Data: overlay.Document})
	if read.File == nil || !slices.Contains(read.Agents, agentID) {
		if of.base != t.fleet.Running().Hash {
			return nil, nil
		}
		return t.fleet.currentFile().DocumentDecisions(agentID, ""), nil
	}
	return read.File.DocumentDecisions(agentID, "overlay"), nil
}
