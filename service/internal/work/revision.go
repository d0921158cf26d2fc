package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Revisions finds the revisions that this process no longer has, or never had.
type Revisions interface {
	// Acquire returns the revision with a hash; its components stay open until its Release. The
	// error wraps ErrRevisionGone, with details, if this process cannot build the revision or the
	// agent no longer resolves in it; other errors are retried. agentID is empty for an ephemeral
	// agent.
	Acquire(ctx context.Context, hash, agentID string) (*registry.Revision, error)
	// Record stores everything needed to resume turns of a revision later and in other processes.
	// It runs before each turn starts, so a repeated call for the same revision must be cheap.
	Record(ctx context.Context, rev *registry.Revision) error
}

// Tenants finds the revisions in which the turns of tenants begin, if they differ by tenant.
type Tenants interface {
	// AnyTenants reports whether the revisions may differ at all. It is cheap.
	AnyTenants() bool
	// AcquireTenant returns the revision in which the turns of a tenant start; its components
	// stay open until its Release. The error wraps ErrRevisionGone if the revision cannot be
	// built; other errors are retried.
	AcquireTenant(ctx context.Context, tenant string) (*registry.Revision, error)
}

// ErrRevisionGone means that a revision is neither in memory nor in the store, or can no longer be
// built.
var ErrRevisionGone = errors.New("the revision is gone")

// Policy selects the revision in which turns continue.
type Policy struct {
	// Latest continues turns in the current revision. Otherwise they continue in their previous
	// one.
	Latest bool
	// LatestIfGone continues a turn in the current revision if its previous one is gone.
	// Otherwise the turn fails.
	LatestIfGone bool
}

// revisionInterval is how often a process looks which revisions are still needed.
const revisionInterval = 10 * time.Second

// keptRevisions are the revisions of this process's waiting turns.
type keptRevisions struct {
	mu     sync.Mutex
	byHash map[string]*registry.Revision
	closed bool
	// checked is when the needed revisions were last checked. Only the sweeping goroutine uses it.
	checked time.Time
}

// keep holds a revision until no live turn needs it. The caller has acquired it.
func (k *keptRevisions) keep(rev *registry.Revision) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.byHash[rev.Hash()]; ok || k.closed || !rev.Retain() {
		return
	}
	if k.byHash == nil {
		k.byHash = make(map[string]*registry.Revision)
	}
	k.byHash[rev.Hash()] = rev
}

// acquire returns a kept revision, or nil.
func (k *keptRevisions) acquire(hash string) *registry.Revision {
	k.mu.Lock()
	defer k.mu.Unlock()
	if rev, ok := k.byHash[hash]; ok && rev.Retain() {
		return rev
	}
	return nil
}

// hasOther reports whether a revision other than the given one is kept.
func (k *keptRevisions) hasOther(hash string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for kept := range k.byHash {
		if kept != hash {
			return true
		}
	}
	return false
}

// dropExcept releases all revisions but those with the given hashes.
func (k *keptRevisions) dropExcept(needed []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for hash, rev := range k.byHash {
		if !slices.Contains(needed, hash) {
			delete(k.byHash, hash)
			rev.Release()
		}
	}
}

// close releases all revisions and keeps no more.
func (k *keptRevisions) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.dropExcept(nil)
}

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

// PublishedBuild returns the name by which Revisions.Acquire knows the revision of a published
// document.
func PublishedBuild(document string) string { return publishedBuild + document }

// PublishedDocument returns the document hash in a name that PublishedBuild returned.
func PublishedDocument(build string) (document string, ok bool) {
	return strings.CutPrefix(build, publishedBuild)
}

const publishedBuild = "document:"

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

// ProgressOf returns the outcome so far of a turn with a stored state, and the usage of each agent.
// They are empty without a state.
func ProgressOf(raw []byte) (event.Outcome, event.AgentUsages) {
	state := new(backend.State)
	if len(raw) == 0 || json.Unmarshal(raw, state) != nil {
		return event.Outcome{}, nil
	}
	o := event.Outcome{
		Agent: state.Agent, Revision: state.Revision.Number, Steps: state.Stats.Steps, Usage: state.Stats.Usage, Agents: state.Agents,
	}
	if state.Stats.Currency != "" {
		o.Cost = &event.Cost{Amount: state.Stats.Cost, Currency: state.Stats.Currency}
	}
	return o, state.AgentUsages()
}
