package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Workspace is the local directory that the session of a call works in.
type Workspace struct {
	// Root is the absolute path of the directory. No path leads out of it.
	Root string
	// Cwd is the initial directory: a slash-separated path below Root.
	Cwd string
}

// WorkspaceError reports an unusable directory of a session.
type WorkspaceError struct{ Problem string }

// Error names the problem without the path, which is local to the machine.
func (e *WorkspaceError) Error() string { return "the workspace of the session " + e.Problem }

// Directory returns the absolute path of the initial directory, with all symbolic links resolved.
// The error is a *WorkspaceError if the directory does not exist or is not below the root.
func (w *Workspace) Directory() (string, error) { return w.Resolve(w.Cwd) }

// Resolve returns the absolute path of a directory below the root. The error is as in
// Directory.
func (w *Workspace) Resolve(name string) (string, error) {
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return "", &WorkspaceError{"is not on this machine, or cannot be opened"}
	}
	defer func() { _ = root.Close() }()
	local := filepath.FromSlash(name)
	info, err := root.Stat(local) // which follows no link out of the root
	if err != nil || !info.IsDir() {
		return "", &WorkspaceError{fmt.Sprintf("has no directory %s", name)}
	}
	dir, err := resolveBelow(w.Root, local)
	if err != nil {
		return "", &WorkspaceError{fmt.Sprintf("has no directory %s: %v", name, err)}
	}
	return dir, nil
}

// errOutside reports a path that leads outside the root.
var errOutside = errors.New("leads out")

// resolveBelow returns the path of a directory below another one without symbolic links.
func resolveBelow(root, local string) (string, error) {
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", errOutside
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(top, local))
	if err != nil {
		return "", errOutside
	}
	if below, err := filepath.Rel(top, dir); err != nil || !filepath.IsLocal(below) {
		return "", errOutside
	}
	return filepath.Abs(dir)
}
