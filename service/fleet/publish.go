package fleet

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/store"
)

// Publish checks that every agent of a document resolves, judges any widened access, and makes
// the document current, first in the store and then here; other processes follow. It records
// every attempt except dry runs. The error is ErrFromFiles, an *InvalidError, a
// *config.PlainSecretError, an *EffectError, a *BrokenTenantsError or a
// *store.RevisionConflictError.
func (p *Publisher) Publish(ctx context.Context, c *Change) (*Published, error) {
	if !p.settings.FromStore && !c.DryRun {
		return nil, ErrFromFiles
	}
	p.publishing.Lock()
	defer p.publishing.Unlock()
	out, err := p.publish(ctx, c)
	return p.endPublish(ctx, "", c, out, err)
}

// Validate checks a document without storing anything. Problems are returned as findings. The
// report compares the document with the running revision; it is nil for a document with errors.
func (p *Publisher) Validate(ctx context.Context, document []byte) (diag.List, *resolve.DiffReport, error) {
	return dryRun(ctx, document, p.Publish)
}

// Rollback publishes the document of an earlier revision again.
func (p *Publisher) Rollback(ctx context.Context, hash string, c *Change) (*Published, error) {
	return p.history.rollBack(ctx, hash, c, p.Publish)
}

// publish publishes a change incrementally, or builds the whole document if needed to describe its
// errors.
func (p *Publisher) publish(ctx context.Context, c *Change) (*Published, error) {
	current := p.settings.Runtime.AcquireRevision()
	defer current.Release()
	if made := p.buildEdit(current, c.Document); made != nil {
		out, err := p.publishBuilt(ctx, c, made)
		if _, invalid := errors.AsType[*InvalidError](err); !invalid {
			return out, err
		}
	}
	made, err := p.build(ctx, c.Document)
	if err != nil {
		return new(Published), err
	}
	made.builder.Adopt(current)
	return p.publishBuilt(ctx, c, made)
}

// publishBuilt publishes a built document, and closes its unused parts.
func (p *Publisher) publishBuilt(ctx context.Context, c *Change, made *built) (out *Published, err error) {
	out = new(Published)
	used := false
	defer func() {
		if !used {
			_ = made.builder.Close() // never used
		}
	}()
	document, err := made.file.Document()
	if err != nil {
		return out, err
	}
	out.Hash = config.HashDocument(document)
	if out.Unchanged, err = p.checkExpected(ctx, "", c, out.Hash); err != nil {
		return out, err
	}
	rev, err := p.prove(ctx, made, &out.Proof)
	if err != nil {
		return out, err
	}
	published, err := p.storeProven(ctx, &candidate{built: made, rev: rev, document: document}, c, out)
	if err != nil || published == nil {
		return out, err
	}
	out.Number, out.recorded = published.Number, true
	p.builds.noteChange()
	if p.Running().Hash != out.Hash {
		// The store has it now: from here on this process follows like any other.
		if err := p.swap(ctx, made, published); err != nil {
			p.fallBehind(published, err)
			p.tellFollower()
		} else {
			used = true
		}
	}
	p.settings.Notify()
	return out, nil
}

// prove resolves every agent, and compares it with its current state.
func (p *Publisher) prove(ctx context.Context, made *built, proof *Proof) (*registry.Revision, error) {
	rev, list := made.builder.Check(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	proof.Findings = p.placeFindings(made.file, made.file.Complete(nil, list))
	if proof.Findings.HasErrors() {
		return nil, &InvalidError{Findings: proof.Findings}
	}
	return rev, p.compare(ctx, rev, proof, made.file)
}

// tenantTries is the maximum number of times that the tenants' overlays are proven if one of them
// changes meanwhile.
const tenantTries = 5

// storeProven proves the tenants' overlays over a base and makes it current in the store. For a dry
// run it only proves them and returns nil.
func (p *Publisher) storeProven(ctx context.Context, base *candidate, c *Change, out *Published) (published *Revision, err error) {
	findings, err := encodeFindings(out.Findings)
	if err != nil {
		return nil, err
	}
	for range tenantTries {
		var proven *store.ProvenOverlays
		if out.Tenants, proven, err = p.proveTenants(ctx, base, c); err != nil {
			return nil, err
		}
		if err := c.checkEffect(out.Diff, out.Tenants); err != nil {
			return nil, err
		}
		if c.DryRun {
			return nil, nil //nolint:nilnil // nothing is published
		}
		if out.Tenants != nil && len(out.Tenants.Broken) > 0 && !c.ExceptBroken {
			return nil, &BrokenTenantsError{Broken: out.Tenants.Broken}
		}
		published, err = p.settings.Store.PublishRevision(ctx, &store.PublishRevision{
			Revision: store.Revision{
				Hash: out.Hash, Document: base.document, Author: c.Author, Note: c.Note, Findings: findings, CreatedAt: p.settings.Clock(),
			},
			Expected: c.Expected, Proven: proven, Attempt: p.newAttempt("", c, out.Hash, findings),
		})
		if !errors.Is(err, store.ErrOverlaysChanged) {
			break
		}
	}
	return published, err
}

func (p *Publisher) compare(ctx context.Context, rev *registry.Revision, proof *Proof, file *config.File) error {
	current := p.settings.Runtime.AcquireRevision()
	defer current.Release()
	diffs, err := resolve.Diff(ctx, current, rev)
	if err != nil {
		return err
	}
	proof.Diff = redactDiff(resolve.NewDiffReport(diffs), p.redactors(file))
	running := p.currentFile()
	if running == nil {
		return nil
	}
	before, after, err := config.ComparedParts(running, file)
	if err != nil {
		return err
	}
	return proof.Diff.AddEntries(before, after)
}
