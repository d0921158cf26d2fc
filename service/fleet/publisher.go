package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Publisher proves documents and makes them current. It is safe for concurrent use.
type Publisher struct {
	*core
	builds  *Builds
	history *History

	// publishing is held while the runtime's revision is replaced. editable is the last revision
	// that this fleet gave the runtime, built from the document in file.
	publishing sync.Mutex
	editable   *registry.Revision
}

// candidate is a base that resolves but is not yet current.
type candidate struct {
	*built

	rev      *registry.Revision
	document []byte
}

// buildEdit builds a document by applying its changes to the current revision; it returns nil if
// that is impossible. The caller closes the builder, or passes the result to a runtime.
func (p *Publisher) buildEdit(current *registry.Revision, document []byte) *built {
	if p.editable == nil || p.editable != current { // changed by a program or a tool server
		return nil
	}
	edit, ok := p.currentFile().Edit(document)
	if !ok {
		return nil
	}
	return &built{file: edit.File, builder: builder.NewEdit(current, edit)}
}

// checkExpected rejects a change that another publisher has overtaken, before more work is done. It
// reports whether the document is already current, as in a repeated request.
func (p *Publisher) checkExpected(ctx context.Context, tenant string, c *Change, hash string) (isCurrent bool, err error) {
	if c.DryRun && c.Expected == "" {
		return false, nil // it is based on none
	}
	known, err := p.settings.Store.CurrentHash(ctx, tenant)
	switch {
	case err != nil:
		return false, err
	case known == hash:
		return true, nil
	case known == c.Expected:
		return false, nil
	default:
		return false, p.conflictWith(ctx, tenant, c.Expected)
	}
}

// swap makes the built revision the current revision of the runtime, which then owns it.
func (p *Publisher) swap(ctx context.Context, made *built, published *store.Revision) error {
	rev, err := made.builder.Publish(ctx, p.settings.Runtime)
	if err != nil {
		return err
	}
	p.builds.setFile(made.file)
	p.editable = rev
	p.setRunning(Running{Number: published.Number, Hash: published.Hash})
	p.builds.noteChange()
	p.settings.Logger.Info("revision published", zap.Uint64("number", published.Number), zap.String("document", published.Hash),
		zap.Uint64("revision", rev.Number()), zap.String("author", published.Author))
	return nil
}

func (p *Publisher) tellFollower() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// newAttempt returns the record of a change.
func (p *Publisher) newAttempt(tenant string, c *Change, hash string, findings []byte) *store.RevisionAttempt {
	return &store.RevisionAttempt{
		Tenant: tenant, Hash: hash, Expected: c.Expected, Author: c.Author, Note: c.Note, Findings: findings, At: p.settings.Clock(),
	}
}

// endPublish returns the result of a change, after recording an attempt that the store does not have.
func (p *Publisher) endPublish(ctx context.Context, tenant string, c *Change, out *Published, err error) (*Published, error) {
	if !c.DryRun && !out.recorded && ctx.Err() == nil {
		err = errors.Join(err, p.addAttempt(ctx, tenant, c, out, err))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// addAttempt records the result of a change that was not stored.
func (p *Publisher) addAttempt(ctx context.Context, tenant string, c *Change, out *Published, err error) error {
	a := p.newAttempt(tenant, c, out.Hash, nil)
	findings := out.Findings
	a.Outcome = store.RevisionRefused
	switch {
	case errors.As(err, new(*store.RevisionConflictError)):
		a.Outcome = store.RevisionConflicted
	case err != nil:
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			findings = invalid.Findings
		}
	}
	var encodeErr error
	if a.Findings, encodeErr = encodeFindings(findings); encodeErr != nil {
		return encodeErr
	}
	if addErr := p.settings.Store.AddRevisionAttempt(ctx, *a); addErr != nil {
		return fmt.Errorf("record the attempt to publish: %w", addErr)
	}
	return nil
}
