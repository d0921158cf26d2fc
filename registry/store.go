package registry

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/diag"
)

// Draft is an unpublished set. It belongs to the function that receives it. Its entries are
// shared with the current revision: replace entries, and never modify them.
type Draft struct{ *Set }

// Check dry-runs a revision before it is published. It returns all that it
// finds, warnings and notes included, and the errors among it joined, each of
// the type that a caller can match.
type Check func(ctx context.Context, rev *Revision) (diag.List, error)

// Store holds the current revision. Reading it is one atomic load; publishing
// takes no lock, and loses no draft.
type Store struct {
	current atomic.Pointer[Revision]
	check   Check

	// closing are those that close the components of earlier revisions, and errs
	// what came of that.
	closing sync.WaitGroup
	mu      sync.Mutex
	errs    []error
	// retired are the earlier revisions whose components are not closed yet. They may
	// share some with one another.
	retired []*Revision
}

// NewStore returns a store whose current revision, number 0, is empty. A nil
// check finds nothing.
func NewStore(check Check) *Store {
	s := &Store{check: check}
	s.current.Store(newRevision(0, NewSet(), new(generation)))
	return s
}

// Current returns the revision published last.
func (s *Store) Current() *Revision { return s.current.Load() }

// InvalidError reports that a draft was not published because its dry run found
// errors.
type InvalidError struct {
	// Diagnostics is all that the dry run found, warnings and notes included.
	Diagnostics diag.List
	// Err is the errors found, joined.
	Err error
}

// Error lists the errors.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("the configuration is invalid: %v", e.Err)
}

// Unwrap returns the errors found.
func (e *InvalidError) Unwrap() error { return e.Err }

// Publish hands edit a draft that starts as the current revision, dry-runs
// what edit made of it, and makes it current. When edit fails, or the dry run
// finds errors (*InvalidError), nothing changes. When another draft was
// published in the meantime edit is called again, with a draft of that one.
// Turns in flight keep the revision they began with.
//
// If edit replaces the draft's Set, the components of the previous revision are closed once all
// of its users have released it, except components that the new set shares.
func (s *Store) Publish(ctx context.Context, edit func(*Draft) error) (*Revision, error) {
	return s.publishDraft(ctx, edit, s.check)
}

// PublishUnchecked publishes without a dry run. A draft that nothing could be
// resolved in, because an entry is nil or has another id than it is registered
// under, is an *InvalidError all the same.
func (s *Store) PublishUnchecked(ctx context.Context, edit func(*Draft) error) (*Revision, error) {
	return s.publishDraft(ctx, edit, nil)
}

func (s *Store) publishDraft(ctx context.Context, edit func(*Draft) error, check Check) (*Revision, error) {
	for {
		base := s.current.Load()
		edited := base.set.Clone()
		draft := &Draft{edited}
		if err := edit(draft); err != nil {
			return nil, err
		}
		if found := draft.checkSound(base.set); found != nil {
			return nil, &InvalidError{Diagnostics: found, Err: found.Err()}
		}
		own := base.generation
		if draft.Set != edited {
			own = new(generation)
		}
		rev := newRevision(base.number+1, draft.Set, own)
		var found diag.List
		var err error
		if check != nil {
			rev.base = base
			found, err = check(ctx, rev)
			rev.base = nil // revisions must not keep one another for ever
		}
		if ended := ctx.Err(); ended != nil { // what the check found may not be all there is
			return nil, fmt.Errorf("publish revision %d: %w", rev.number, ended)
		}
		if err != nil {
			return nil, &InvalidError{Diagnostics: found, Err: err}
		}
		rev.diagnostics = found
		retires := own != base.generation
		if retires {
			s.noteRetired(base)
		}
		if s.current.CompareAndSwap(base, rev) {
			if retires {
				s.retireRevision(base)
			}
			return rev, nil
		}
		if retires {
			s.dropRetired(base)
		}
	}
}
