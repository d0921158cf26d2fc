// Package process starts configured programs: it determines their environment, finds their
// executable, and ends them together with everything they started.
package process

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// inherited are the runtime's own variables that a program gets. All others, such as the keys of
// model providers, are withheld.
var inherited = []string{"PATH", "HOME", "TMPDIR", "LANG"}

// Environment returns the variables of a program, sorted by name: the runtime's own PATH, HOME,
// TMPDIR and LANG, and the configured ones.
func Environment(configured map[string]string) []string {
	return EnvironmentWith(inherited, configured)
}

// EnvironmentWith is Environment with a different set of inherited variables.
func EnvironmentWith(inherited []string, configured map[string]string) []string {
	values := make(map[string]string, len(inherited)+len(configured))
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			values[name] = value
		}
	}
	maps.Copy(values, configured)
	env := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env
}

// StartError explains why a program cannot be started on this machine.
type StartError struct{ text string }

// Error returns the explanation, without the program's arguments.
func (e *StartError) Error() string { return e.text }

// Find returns the path of a program. It looks up names in the program's own PATH, and resolves
// relative paths from its working directory. It returns a *StartError if the program does not
// exist.
func Find(name, dir string, configured map[string]string) (string, error) {
	if !strings.ContainsRune(name, '/') && !strings.ContainsRune(name, filepath.Separator) {
		path, ok := configured["PATH"]
		if !ok {
			path = os.Getenv("PATH")
		}
		return findInPath(name, path)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	// The child changes its directory before starting the program.
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the command: %w", err)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", &StartError{fmt.Sprintf("command %q cannot be run: %v", name, innermostError(err))}
	}
	return path, nil
}

// findInPath looks up a name in the absolute directories of a PATH. With others, the result would
// depend on the runtime's working directory.
func findInPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", &StartError{fmt.Sprintf("command %q is not installed: not found in PATH", name)}
}

// Refused returns the error to report for a program that did not start: a *StartError if the
// machine does not match the configuration, otherwise err.
func Refused(name, dir string, err error) error {
	if info, statErr := os.Stat(dir); dir != "" && (statErr != nil || !info.IsDir()) {
		return &StartError{"the directory that the command is to run in does not exist"}
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return &StartError{fmt.Sprintf("command %q cannot be run: %v", name, innermostError(err))}
	}
	return err
}

// innermostError returns the innermost error, which does not repeat the path.
func innermostError(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
