package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// errNoWorkspace reports a call of a session without a workspace.
var errNoWorkspace = errors.New("the session has no workspace, and the tool has no root")

// place is the directory of a call.
type place struct {
	// root is the directory that no path leaves, and base where paths begin below it.
	root, base string
}

type placeKey struct{}

// placeOf returns the place of a call.
func placeOf(ctx context.Context) place {
	at, _ := ctx.Value(placeKey{}).(place)
	return at
}

// scope is an open root with the directory in it where paths begin. Paths opened through it stay
// inside the root.
type scope struct {
	*os.Root
	base string
}

// openScope opens the root of a call.
func openScope(ctx context.Context) (*scope, error) {
	at := placeOf(ctx)
	root, err := os.OpenRoot(at.root)
	if err != nil {
		return nil, fmt.Errorf("the root of the workspace cannot be opened: %w", plainCause(err))
	}
	return &scope{root, at.base}, nil
}

// localPath returns the path of a call relative to the root.
func (s *scope) localPath(name string) (string, error) { return localPath(s.base, name) }

// showPath returns a path below the root as calls name it.
func (s *scope) showPath(local string) string {
	shown, err := filepath.Rel(filepath.FromSlash(s.base), filepath.FromSlash(local))
	if err != nil { // both are relative
		return local
	}
	return filepath.ToSlash(shown)
}

// gitDirectory is where git keeps its configuration and hooks, in any spelling that a file system
// may accept.
const gitDirectory = ".git"

// leadsIntoGit reports whether a path, or the target of its symbolic links, is in git's directory.
// Only a program with write access there could change the links concurrently.
func (s *scope) leadsIntoGit(local string) bool {
	if namesGit(local) {
		return true
	}
	top, err := filepath.EvalSymlinks(s.Name())
	if err != nil {
		return true
	}
	for at := local; at != "."; at = path.Dir(at) { // the first that exists
		real, err := filepath.EvalSymlinks(filepath.Join(top, filepath.FromSlash(at)))
		if err != nil {
			continue
		}
		below, err := filepath.Rel(top, real)
		return err != nil || namesGit(filepath.ToSlash(below))
	}
	return false
}

// namesGit reports whether a path contains the directory of git.
func namesGit(local string) bool {
	for part := range strings.SplitSeq(local, "/") {
		if strings.EqualFold(strings.TrimRight(part, ". "), gitDirectory) || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}

// plainCause returns the cause of a file error without the path, which is local to the machine.
func plainCause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// pathError reports an unusable path of a call.
type pathError struct {
	Path, Problem string
}

// Error names the path.
func (e *pathError) Error() string { return fmt.Sprintf("path %q %s", e.Path, e.Problem) }

// localPath returns the path of a call relative to the root. An empty path is the directory where
// paths begin.
func localPath(base, name string) (string, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return "", &pathError{name, "has a NUL character"}
	case path.IsAbs(name) || filepath.IsAbs(name):
		return "", &pathError{name, "is absolute: paths begin at the root of the workspace"}
	}
	clean := path.Join(base, name)
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", &pathError{name, "leads out of the workspace"}
	}
	return clean, nil
}

// fileError returns the error of using a workspace file, for the model.
func fileError(name string, err error) error {
	var at *pathError
	if errors.As(err, &at) {
		return err
	}
	return fmt.Errorf("%s: %w", name, plainCause(err))
}
