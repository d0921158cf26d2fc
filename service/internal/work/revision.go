package work

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/registry"
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

// PublishedBuild returns the name by which Revisions.Acquire knows the revision of a published
// document.
func PublishedBuild(document string) string { return publishedBuild + document }

// PublishedDocument returns the document hash in a name that PublishedBuild returned.
func PublishedDocument(build string) (document string, ok bool) {
	return strings.CutPrefix(build, publishedBuild)
}

const publishedBuild = "document:"
