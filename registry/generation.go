package registry

import (
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
