// Package workspace creates the directories that sessions work in: checkouts of git repositories
// that a policy allows, below one directory of the machine.
//
// A directory is claimed before its session is stored, and is named after the session and the
// starting request. A lock on a file beside it, which the system releases with the process,
// distinguishes running requests from leftovers of dead processes, which Sweep deletes.
package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/gitrepo"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

const (
	// lockSuffix is the suffix of the lock file beside a workspace, and freshPrefix the prefix of
	// a lock file that is not locked yet.
	lockSuffix  = ".lock"
	freshPrefix = ".new-"
	// ephemeralPrefix prefixes the namespace of a store that ends with its process, and aliveName
	// is the lock in it that the process holds.
	ephemeralPrefix = "memory-"
	aliveName       = ".alive"
	// ownerOnly is the permission mode of directories.
	ownerOnly fs.FileMode = 0o700
)

// Settings configures a Manager. The policy cannot be changed later.
type Settings struct {
	// Dir is the directory of all workspaces. It is created when needed.
	Dir string
	// Store names the store whose sessions have their workspaces here; workspaces of different
	// stores are never confused. Empty means a store that ends with the process, along with its
	// workspaces.
	Store string
	// Repositories are patterns of the repositories that may be checked out, and Protocols the
	// allowed git protocols. If either is empty, checkouts are disabled.
	Repositories, Protocols []string
	// Roots are the directories below which a host may hand over a workspace.
	Roots []string
	// Env are variables for git, such as credentials.
	Env map[string]string
	// Timeout limits the time to prepare a workspace, and MaxBytes its size afterwards.
	Timeout  time.Duration
	MaxBytes int64
	// Logger is not nil.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Manager creates and deletes workspaces. It is safe for concurrent use; several processes may
// share a directory.
type Manager struct {
	settings  Settings
	allowed   []gitrepo.Pattern
	namespace string

	mu sync.Mutex
	// alive is the lock on the namespace of a store that ends with the process; nil before the
	// namespace exists.
	alive  *os.File
	closed bool
}

// New returns a manager. It accesses no files.
func New(s Settings) (*Manager, error) {
	m := &Manager{settings: s, namespace: s.Store}
	for i, glob := range s.Repositories {
		p, err := gitrepo.Compile(glob)
		if err != nil {
			return nil, fmt.Errorf("repository pattern %d: %w", i+1, err)
		}
		m.allowed = append(m.allowed, p)
	}
	var err error
	if m.settings.Dir, err = filepath.Abs(s.Dir); err != nil {
		return nil, err
	}
	if m.namespace == "" {
		m.namespace = ephemeralPrefix + newToken()
	}
	return m, nil
}

func newToken() string { return uuid.NewString() }

// Timeout returns how long preparing a workspace may take.
func (m *Manager) Timeout() time.Duration { return m.settings.Timeout }

// AcceptsCheckouts reports whether any repository may be checked out.
func (m *Manager) AcceptsCheckouts() bool { return m != nil && len(m.allowed) > 0 }

// Record is the session's record of its workspace.
type Record struct {
	// Name is the directory below the workspaces' root, or Root is the directory of a workspace
	// supplied by a host. Exactly one is set.
	Name string `json:"name,omitempty"`
	Root string `json:"root,omitempty"`
	// Cwd is the initial directory, below the workspace's directory.
	Cwd       string     `json:"cwd"`
	Checkouts []Checkout `json:"checkouts,omitempty"`
}

// ReadRecord decodes a session's record; nil if it has no workspace.
func ReadRecord(kept json.RawMessage) *Record {
	var r Record
	if len(kept) == 0 || json.Unmarshal(kept, &r) != nil || r.Name == "" && r.Root == "" {
		return nil
	}
	return &r
}

// UnavailableError means that a workspace is not on this machine.
type UnavailableError struct{ Problem string }

// Error names the problem.
func (e *UnavailableError) Error() string {
	return "the workspace of the session cannot be used: " + e.Problem
}

// Open returns the workspace of a session. The error is an *UnavailableError: a workspace exists
// only on the machine that prepared it, and is not prepared again elsewhere, because changes made
// in it would be missing.
func (m *Manager) Open(r *Record) (*tools.Workspace, error) {
	if m == nil {
		return nil, &UnavailableError{"this process is not configured for workspaces"}
	}
	w := &tools.Workspace{Root: r.Root, Cwd: r.Cwd}
	if r.Root == "" {
		if !isOwnName(r.Name) {
			return nil, &UnavailableError{"the record of it cannot be read"}
		}
		w.Root = filepath.Join(m.settings.Dir, filepath.FromSlash(r.Name))
	} else if err := m.checkRoot(r.Root); err != nil {
		return nil, &UnavailableError{err.Error()}
	}
	if _, err := w.Directory(); err != nil {
		return nil, &UnavailableError{"it was prepared on another machine, or is deleted"}
	}
	return w, nil
}

// isOwnName reports whether a name has the form of a manager's workspace: store name and
// workspace name.
func isOwnName(name string) bool {
	space, own, found := strings.Cut(name, "/")
	return found && space != "" && own != "" && !strings.Contains(own, "/") && filepath.IsLocal(filepath.FromSlash(name)) && path.Clean(name) == name
}

// Remove deletes the workspace of a session, unless a host supplied it.
func (m *Manager) Remove(r *Record) error {
	if m == nil || r == nil || r.Root != "" || !isOwnName(r.Name) {
		return nil
	}
	return m.removeTree(r.Name)
}

// removeTree deletes a directory and its lock, including read-only files.
func (m *Manager) removeTree(name string) error {
	root, err := os.OpenRoot(m.settings.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	local := filepath.FromSlash(name)
	if err := root.RemoveAll(local); err != nil {
		makeWritable(root, local)
		if err := root.RemoveAll(local); err != nil {
			return err
		}
	}
	if err := root.Remove(local + lockSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeWritable lets the owner delete the contents of all directories below another one.
func makeWritable(root *os.Root, local string) {
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(local), func(name string, entry fs.DirEntry, err error) error { // what cannot be changed cannot be deleted either
		if entry != nil && entry.IsDir() && entry.Type()&fs.ModeSymlink == 0 {
			_ = root.Chmod(filepath.FromSlash(name), ownerOnly) // as above
		}
		if err != nil && entry == nil {
			return err
		}
		return nil
	})
}

// Prepared is a workspace prepared by a host: two absolute paths.
type Prepared struct{ Root, Cwd string }

// Accept returns the record of a workspace that a host hands over. The error is an
// *InvalidError or a *PolicyError.
func (m *Manager) Accept(p *Prepared) (*Record, error) {
	switch {
	case !filepath.IsAbs(p.Root) || strings.ContainsRune(p.Root, 0):
		return nil, &InvalidError{"root", "must be an absolute path"}
	case !filepath.IsAbs(p.Cwd) || strings.ContainsRune(p.Cwd, 0):
		return nil, &InvalidError{"cwd", "must be an absolute path"}
	}
	cwd, err := filepath.Rel(p.Root, p.Cwd)
	if err != nil || !filepath.IsLocal(cwd) {
		return nil, &InvalidError{"cwd", "must lie in the root"}
	}
	if err := m.checkRoot(p.Root); err != nil {
		return nil, err
	}
	w := tools.Workspace{Root: p.Root, Cwd: filepath.ToSlash(cwd)}
	if _, err := w.Directory(); err != nil {
		return nil, &PolicyError{err.Error()}
	}
	return &Record{Root: filepath.Clean(p.Root), Cwd: filepath.ToSlash(cwd)}, nil
}

// checkRoot returns why a host may not supply a directory. The directory must be below one of the
// configured directories, even after resolving all symbolic links.
func (m *Manager) checkRoot(root string) error {
	if m == nil || len(m.settings.Roots) == 0 {
		return &PolicyError{"hosts may hand over no workspaces: workspaces.prepared_roots is empty"}
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return &PolicyError{"its root is not on this machine"}
	}
	for _, allowed := range m.settings.Roots {
		top, err := filepath.EvalSymlinks(allowed)
		if err != nil {
			continue
		}
		if below, err := filepath.Rel(top, real); err == nil && filepath.IsLocal(below) && below != "." {
			return nil
		}
	}
	return &PolicyError{"its root is not below one of workspaces.prepared_roots"}
}

// Close deletes the workspaces of a store that ends with the process.
func (m *Manager) Close(ctx context.Context) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.alive == nil {
		return
	}
	if err := m.removeTree(m.namespace); err != nil && ctx.Err() == nil {
		m.settings.Logger.Error("deleting workspaces failed", zap.Error(err))
	}
	_ = m.alive.Close()
	m.alive = nil
}
