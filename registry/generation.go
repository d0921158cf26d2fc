package registry

import (
	"errors"
	"slices"
	"sync"
)

// generation counts the users of a set's components. Revisions made by editing one another share
// it and its components; a revision with a new set starts a new one.
type generation struct {
	mu    sync.Mutex
	users int
	// end closes the components. It is set once no new user can be added, and called after the last
	// one was removed.
	end func()
}

// addUser adds a user, and reports whether that is still possible.
func (g *generation) addUser() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != nil {
		return false
	}
	g.users++
	return true
}

// addAnotherUser adds a user unless all users were removed and no new one can be added. It reports
// whether it did.
func (g *generation) addAnotherUser() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != nil && g.users == 0 {
		return false
	}
	g.users++
	return true
}

// removeUser removes a user.
func (g *generation) removeUser() {
	g.mu.Lock()
	g.users--
	end := g.end
	last := end != nil && g.users == 0
	g.mu.Unlock()
	if last {
		end()
	}
}

// endAfterUsers stops new users from being added, and calls end once there are none.
func (g *generation) endAfterUsers(end func()) {
	g.mu.Lock()
	g.end = end
	unused := g.users == 0
	g.mu.Unlock()
	if unused {
		end()
	}
}

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

// Retain acquires a revision that is current or already acquired by the caller. It returns false
// if the components were closed because the revision was replaced and its last user released it.
func (r *Revision) Retain() bool { return r.generation.addAnotherUser() }

// Release ends the use of the revision's components that began with Acquire or Retain. Call it once
// for each; it does not wait.
func (r *Revision) Release() { r.generation.removeUser() }

// EndAfterUsers stops anyone else from acquiring a revision that was never replaced, and calls end
// once, when all users have released it: possibly immediately.
func (r *Revision) EndAfterUsers(end func()) { r.generation.endAfterUsers(end) }

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
