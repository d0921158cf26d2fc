package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// revisionInterval is how often a process looks which revisions are still needed.
const revisionInterval = 10 * time.Second

// dropRevisions releases the revisions in which no turn waits any more.
func (p *Pool) dropRevisions(ctx context.Context) {
	if time.Since(p.kept.checked) < revisionInterval || p.settings.Runtime == nil {
		return
	}
	current := p.settings.Runtime.Revision().Hash()
	if !p.kept.hasOther(current) {
		return
	}
	p.kept.checked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.settings.Lease)
	defer cancel()
	needed, err := p.settings.Store.LiveRevisions(ctx)
	if err != nil {
		p.logError(ctx, "reading the revisions of live turns failed", err)
		return
	}
	p.kept.dropExcept(append(needed, current))
}

// goneError means that the revision in which a turn ran is gone.
type goneError struct {
	hash string
	err  error
}

func (e *goneError) Error() string {
	return fmt.Sprintf("the turn cannot continue in revision %.12s, in which it began: %v", e.hash, e.err)
}

// unresolvedError means that a turn cannot begin because its agent no longer resolves or its tools
// cannot be made.
type unresolvedError struct{ err error }

func (e *unresolvedError) Error() string { return e.err.Error() }

// acquireRevision acquires the revision in which the turn continues, and records its previous
// revision in the request.
func (w *worker) acquireRevision(ctx context.Context) (*registry.Revision, error) {
	req, policy := w.order.Request, w.pool.settings.Policy
	before := cmp.Or(w.order.Revision, w.turn.Revision)
	if req.State != nil && req.State.Revision.Hash != "" {
		before = req.State.Revision.Hash
	}
	req.BegunIn = before
	if before == "" || before == w.current.Hash() || policy.Latest {
		return w.retainCurrent()
	}
	agentID := w.turn.AgentID
	if w.order.Request.Ephemeral != nil {
		agentID = ""
	}
	rev, err := w.pool.FindRevision(ctx, before, agentID)
	switch {
	case err == nil || !errors.Is(err, ErrRevisionGone):
		return rev, err
	case policy.LatestIfGone:
		w.pool.settings.Logger.Warn("revision gone; turn continues in the current one", zap.String("turn_id", w.turn.ID),
			zap.String("revision", before), zap.Error(err))
		return w.retainCurrent()
	default:
		return nil, &goneError{hash: before, err: err}
	}
}

// retainCurrent returns the revision in which new turns begin.
func (w *worker) retainCurrent() (*registry.Revision, error) {
	if w.currentErr != nil {
		return nil, &unresolvedError{w.currentErr}
	}
	w.current.Retain()
	return w.current, nil
}

// acquireCurrent returns the revision in which a new turn starts. broken is set if the tenant's
// revision could not be built: the returned shared revision must then not be used for the turn.
// The error is ErrNotFound for an unknown turn.
func (p *Pool) acquireCurrent(ctx context.Context, turnID string) (rev *registry.Revision, broken, err error) {
	if p.settings.Tenants == nil || !p.settings.Tenants.AnyTenants() {
		return p.settings.Runtime.AcquireRevision(), nil, nil
	}
	err = retryUntilEnd(ctx, func() error {
		turn, err := p.settings.Store.Turn(ctx, store.Everything, turnID)
		if err == nil {
			rev, err = p.settings.Tenants.AcquireTenant(ctx, turn.Owner.Tenant)
		}
		return err
	}, func(err error) bool { return isDeclined(err) || errors.Is(err, ErrRevisionGone) })
	if errors.Is(err, ErrRevisionGone) {
		return p.settings.Runtime.AcquireRevision(), err, nil
	}
	return rev, nil, err
}

// acquireFor returns the revision in which new turns of a tenant begin.
func (p *Pool) acquireFor(ctx context.Context, tenant string) (*registry.Revision, error) {
	if p.settings.Tenants == nil || !p.settings.Tenants.AnyTenants() {
		return p.settings.Runtime.AcquireRevision(), nil
	}
	return p.settings.Tenants.AcquireTenant(ctx, tenant)
}

// FindRevision acquires a revision that is not current, for turns of an agent.
func (p *Pool) FindRevision(ctx context.Context, hash, agentID string) (*registry.Revision, error) {
	if rev := p.kept.acquire(hash); rev != nil {
		return rev, nil
	}
	if p.settings.Revisions == nil {
		return nil, ErrRevisionGone
	}
	return p.settings.Revisions.Acquire(ctx, hash, agentID)
}

// PinPublished returns the hash of the revision of a published document, keeps it for turns that
// start in it, and records it for other processes. The error wraps ErrRevisionGone if an agent
// cannot run in it.
func (p *Pool) PinPublished(ctx context.Context, document, agentID string) (string, error) {
	rev, err := p.FindRevision(ctx, PublishedBuild(document), agentID)
	if err != nil {
		return "", err
	}
	defer rev.Release()
	if err := p.settings.Revisions.Record(ctx, rev); err != nil {
		return "", err
	}
	p.kept.keep(rev)
	return rev.Hash(), nil
}
