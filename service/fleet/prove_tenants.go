package fleet

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/store"
)

// proveTenants applies the overlays of all tenants to a base that is not yet current. It returns
// the results to store with the base.
func (p *Publisher) proveTenants(ctx context.Context, made *candidate, c *Change) (*TenantsProof, *store.ProvenOverlays, error) {
	mark, err := p.settings.Store.OverlayMark(ctx)
	if err != nil || mark == 0 {
		return nil, &store.ProvenOverlays{Mark: mark}, err
	}
	base := &overlayBase{hash: config.HashDocument(made.document), rev: made.rev}
	base.config, err = config.NewTenantBase(made.file, p.documentName(), made.document)
	if err != nil && !errors.Is(err, ErrNoTenants) {
		return nil, nil, err
	}
	prover := &tenantsProver{builds: p.builds, base: base, progress: c.Progress}
	if prover.total, err = p.countTenants(ctx); err == nil {
		err = prover.proveAll(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	proof := &TenantsProof{Checked: prover.done, Broken: prover.broken}
	proof.Changed = prover.changed
	slices.SortFunc(proof.Broken, func(a, b BrokenTenant) int { return strings.Compare(a.Tenant, b.Tenant) })
	slices.SortFunc(proof.Changed, func(a, b ChangedTenant) int { return strings.Compare(a.Tenant, b.Tenant) })
	proven := &store.ProvenOverlays{Mark: mark}
	for i := range proof.Broken {
		held, err := p.baseOf(ctx, proof.Broken[i].Tenant, c.Expected)
		if err != nil {
			return nil, nil, err
		}
		proven.Held = append(proven.Held, store.HeldOverlay{Tenant: proof.Broken[i].Tenant, Base: held})
	}
	return proof, proven, nil
}

// baseOf returns the hash of a tenant's base. current is the hash of the current base.
func (p *Publisher) baseOf(ctx context.Context, tenant, current string) (string, error) {
	state, err := p.settings.Store.Overlay(ctx, tenant)
	if err != nil || state.Base != "" {
		return state.Base, err
	}
	return current, nil
}

// countTenants returns the number of tenants with overlays.
func (p *Publisher) countTenants(ctx context.Context) (n int, err error) {
	q := store.OverlayQuery{Limit: store.MaxPage}
	for {
		page, err := p.settings.Store.Overlays(ctx, q)
		if err != nil {
			return n, err
		}
		n += len(page.Overlays)
		if q.After = page.Next; q.After == "" {
			return n, nil
		}
	}
}

// tenantsProver applies overlays to a base, many at a time.
type tenantsProver struct {
	builds   *Builds
	base     *overlayBase
	progress func(done, total int)
	total    int

	mu     sync.Mutex
	done   int
	broken []BrokenTenant
	// changed lists the tenants affected by the base.
	changed []ChangedTenant
	err     error
}

// proofPage is the number of overlays in memory at a time.
const proofPage = 200

func (p *tenantsProver) proveAll(ctx context.Context) error {
	q := store.OverlayQuery{Limit: proofPage, Documents: true}
	for {
		page, err := p.builds.settings.Store.Overlays(ctx, q)
		if err != nil {
			return err
		}
		p.provePage(ctx, page.Overlays)
		if p.err != nil {
			return p.err
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

func (p *tenantsProver) provePage(ctx context.Context, list []*store.Revision) {
	overlays := make(chan *store.Revision)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		workers.Go(func() {
			for r := range overlays {
				p.proveOne(ctx, r)
			}
		})
	}
	for _, r := range list {
		overlays <- r
	}
	close(overlays)
	workers.Wait()
}

func (p *tenantsProver) proveOne(ctx context.Context, r *store.Revision) {
	var made *overlaid
	err := ctx.Err()
	switch {
	case err != nil:
	case p.base.config == nil:
		err = &InvalidError{Findings: diag.List{diag.New(diag.WidenedAccess, "tenants", "the overlay of the tenant would have no base: %v", ErrNoTenants)}}
	default:
		made, err = p.builds.applyOverlay(ctx, p.base, r.Tenant, r.Document)
	}
	var changed *ChangedTenant
	if made != nil {
		changed, err = p.compare(ctx, r, made)
		_ = made.close() // only compared, never used
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if changed != nil {
		p.changed = append(p.changed, *changed)
	}
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		p.broken = append(p.broken, BrokenTenant{r.Tenant, invalid.Findings.Errors()})
	} else if err != nil && p.err == nil {
		p.err = err
	}
	if p.progress != nil {
		p.progress(p.done, p.total)
	}
}

// compare compares a tenant's current revision with its revision over the new base; nil if nothing
// differs. A tenant whose overlay currently does not resolve is not compared.
func (p *tenantsProver) compare(ctx context.Context, r *store.Revision, made *overlaid) (*ChangedTenant, error) {
	state, err := p.builds.settings.Store.Overlay(ctx, r.Tenant)
	if err != nil {
		return nil, err
	}
	base, err := p.builds.acquireBase(ctx, state.Base)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, nil //nolint:nilnil // there is nothing to compare with
	}
	defer base.rev.Release()
	known, err := p.builds.applyOverlay(ctx, base, r.Tenant, r.Document)
	if err != nil {
		return nil, ctx.Err()
	}
	defer func() { _ = known.close() }()
	changed := &ChangedTenant{Tenant: r.Tenant}
	ids := slices.Concat(made.concerned(), known.concerned())
	if changed.Diff, err = p.builds.reportDiff(ctx, known.rev, made.rev, ids, known, made); err != nil {
		return nil, err
	}
	for _, d := range made.findings {
		isKnown := func(was diag.Diagnostic) bool {
			return was.Code == d.Code && was.Path == d.Path && was.Message == d.Message
		}
		if d.Severity == diag.Warning && !slices.ContainsFunc(known.findings, isKnown) {
			changed.Warnings = append(changed.Warnings, d)
		}
	}
	if changed.Diff.Same && len(changed.Warnings) == 0 {
		return nil, nil //nolint:nilnil // nothing differs
	}
	return changed, nil
}
