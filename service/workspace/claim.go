package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errClosed is returned for requests after Close.
var errClosed = errors.New("the process ends")

// Claim is the place of the workspace of a session that is about to begin.
type Claim struct {
	manager *Manager
	name    string
	lock    *os.File
}

// nameOf returns the name of a session's workspace, for one attempt to start the session.
func (m *Manager) nameOf(sessionID, token string) string {
	return m.namespace + "/" + sessionID + "~" + token
}

// Claim claims the place of a workspace. It is called before the session is stored, so that it is
// always known whether the preparing process is alive.
func (m *Manager) Claim(sessionID, token string) (*Claim, error) {
	if err := m.makeNamespace(); err != nil {
		return nil, err
	}
	c := &Claim{manager: m, name: m.nameOf(sessionID, token)}
	place := filepath.Join(m.settings.Dir, filepath.FromSlash(c.name))
	var err error
	if c.lock, err = createLock(place + lockSuffix); err != nil {
		return nil, err
	}
	if err := os.Mkdir(place, ownerOnly); err != nil {
		return nil, errors.Join(err, c.Discard())
	}
	return c, nil
}

// createLock creates a file locked by this process. The file is visible to others only once locked.
func createLock(name string) (*os.File, error) {
	fresh := filepath.Join(filepath.Dir(name), freshPrefix+newToken())
	f, err := os.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	lockFile(f) // nobody else knows it
	if err := os.Rename(fresh, name); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(fresh))
	}
	return f, nil
}

// makeNamespace creates the directory of the store's workspaces.
func (m *Manager) makeNamespace() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir := filepath.Join(m.settings.Dir, m.namespace)
	switch {
	case m.closed:
		return errClosed
	case m.settings.Store != "":
		return os.MkdirAll(dir, ownerOnly)
	case m.alive != nil:
		return nil
	}
	fresh := filepath.Join(m.settings.Dir, freshPrefix+newToken())
	if err := os.MkdirAll(fresh, ownerOnly); err != nil {
		return err
	}
	alive, err := createLock(filepath.Join(fresh, aliveName))
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	m.alive = alive
	return nil
}

// directory returns the directory in which Prepare creates the checkouts.
func (c *Claim) directory() string {
	return filepath.Join(c.manager.settings.Dir, filepath.FromSlash(c.name))
}

// Keep leaves the workspace to the session, which has been stored with its record.
func (c *Claim) Keep() error {
	err := os.Remove(c.directory() + lockSuffix)
	return errors.Join(err, c.lock.Close())
}

// Discard deletes the workspace.
func (c *Claim) Discard() error {
	return errors.Join(c.manager.removeTree(c.name), c.lock.Close())
}

// IsAbandoned reports whether the process that claimed a workspace on this machine is dead. False
// does not prove that it is alive.
func (m *Manager) IsAbandoned(sessionID, token string) bool {
	return m != nil && m.isFree(m.nameOf(sessionID, token)+lockSuffix)
}

// isFree reports whether a lock exists and no process holds it.
func (m *Manager) isFree(name string) bool {
	f, err := os.OpenFile(filepath.Join(m.settings.Dir, filepath.FromSlash(name)), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return lockFile(f)
}

// splitName returns the session and the attempt that a workspace was created for.
func splitName(own string) (sessionID, token string, ok bool) {
	return strings.Cut(own, "~")
}

// Orphan is a workspace that may belong to no session.
type Orphan struct {
	// SessionID and Token name the session and the attempt to start it. Name is the name in the
	// session's record.
	SessionID, Token, Name string
}

// Sweep deletes workspaces of the store that isNeeded rejects, and workspaces of stores that
// ended with their process. It skips workspaces in preparation. It stops with ctx.
func (m *Manager) Sweep(ctx context.Context, isNeeded func(context.Context, *Orphan) bool) error {
	if m == nil {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(m.settings.Dir, m.namespace))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var failed []error
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		own := strings.TrimSuffix(entry.Name(), lockSuffix)
		sessionID, token, ok := splitName(own)
		name := m.namespace + "/" + own
		if !ok || strings.HasPrefix(own, ".") || m.isHeld(name+lockSuffix) || isNeeded(ctx, &Orphan{sessionID, token, name}) {
			continue
		}
		failed = append(failed, m.removeTree(name))
	}
	return errors.Join(append(failed, m.sweepNamespaces(ctx))...)
}

// isHeld reports whether a lock exists and a process holds it.
func (m *Manager) isHeld(name string) bool {
	_, err := os.Lstat(filepath.Join(m.settings.Dir, filepath.FromSlash(name)))
	return err == nil && !m.isFree(name)
}

// sweepNamespaces deletes the workspaces of stores that ended with their process.
func (m *Manager) sweepNamespaces(ctx context.Context) error {
	entries, err := os.ReadDir(m.settings.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var failed []error
	for _, entry := range entries {
		name := entry.Name()
		if ctx.Err() == nil && strings.HasPrefix(name, ephemeralPrefix) && name != m.namespace && m.isFree(name+"/"+aliveName) {
			failed = append(failed, m.removeTree(name))
		}
	}
	return errors.Join(failed...)
}
