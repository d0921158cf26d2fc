package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/diag"
)

// Draft is an unpublished set. It belongs to the function that receives it. It shares its entries
// with the current revision: replace entries, and never modify them.
type Draft struct{ *Set }

// Check dry-runs a revision before it is published. It returns all diagnostics, including warnings
// and notes, and the errors joined, each of a type that a caller can match.
type Check func(ctx context.Context, rev *Revision) (diag.List, error)

// Store holds the current revision. Reading it is one atomic load; publishing
// takes no lock, and loses no draft.
type Store struct {
	current atomic.Pointer[Revision]
	check   Check

	// closing waits for the goroutines that close earlier revisions' components, and errs are their
	// errors.
	closing sync.WaitGroup
	mu      sync.Mutex
	errs    []error
	// retired are the earlier revisions whose components are still open. They may share components.
	retired []*Revision
}

// NewStore returns a store whose current revision, number 0, is empty. A nil
// check finds nothing.
func NewStore(check Check) *Store {
	s := &Store{check: check}
	s.current.Store(newRevision(0, NewSet(), new(generation)))
	return s
}

// Current returns the last published revision.
func (s *Store) Current() *Revision { return s.current.Load() }

// Acquire returns the last published revision, whose components stay open until its Release.
func (s *Store) Acquire() *Revision {
	for {
		rev := s.current.Load()
		if rev.generation.addUser() {
			return rev
		}
		// Another revision has replaced it.
	}
}

// InvalidError reports that a draft was not published because its dry run found
// errors.
type InvalidError struct {
	// Diagnostics are all findings of the dry run, including warnings and notes.
	Diagnostics diag.List
	// Err is the joined errors.
	Err error
}

// Error lists the errors.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("the configuration is invalid: %v", e.Err)
}

// Unwrap returns the joined errors.
func (e *InvalidError) Unwrap() error { return e.Err }

// Publish calls edit with a draft that starts as the current revision, dry-runs the edited draft,
// and makes it current. If edit fails, or the dry run finds errors (*InvalidError), nothing
// changes. If another draft was published in the meantime, edit is called again with a draft of
// that one. Turns in flight keep the revision they began with.
//
// If edit replaces the draft's Set, the components of the previous revision are closed once all of
// its users have released it, except components that the new set shares.
func (s *Store) Publish(ctx context.Context, edit func(*Draft) error) (*Revision, error) {
	return s.publishDraft(ctx, edit, s.check)
}

// PublishUnchecked publishes without a dry run. A draft in which nothing could be resolved, because
// an entry is nil or is registered under another id than its own, still fails with an
// *InvalidError.
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
			rev.base = nil // revisions must not keep one another alive
		}
		if ended := ctx.Err(); ended != nil { // the check's findings may be incomplete
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

// noteRetired adds a revision to the revisions whose components are still open. It is called before
// a new revision becomes current, so that shared components are never closed early.
func (s *Store) noteRetired(old *Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = append(s.retired, old)
}

// dropRetired removes one entry of a revision from the retired ones, and returns the sets of the
// others and of the current one.
func (s *Store) dropRetired(old *Revision) []*Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.retired, old); i >= 0 {
		s.retired = slices.Delete(s.retired, i, i+1)
	}
	others := []*Set{s.Current().set}
	for _, r := range s.retired {
		others = append(others, r.set)
	}
	return others
}

// retireRevision closes the components that only the old revision has, once nothing uses it. Agent
// providers missing from the current one are notified.
func (s *Store) retireRevision(old *Revision) {
	retireProviders(old.set, s.Current().set)
	old.generation.endAfterUsers(func() {
		closers := old.set.closers(s.dropRetired(old)...)
		if len(closers) == 0 {
			return
		}
		s.closing.Go(func() {
			err := closeAll(closers)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.errs = append(s.errs, err)
		})
	})
}

// Close closes the components of the current revision, and waits for those of earlier ones. Call
// it when nothing is published or used anymore. The error lists all failed closes since the store
// was created.
func (s *Store) Close() error {
	s.closing.Wait()
	err := s.Current().set.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	err = errors.Join(append(s.errs, err)...)
	s.errs = nil
	return err
}
