package command

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

// inherited are the variables that a program gets of the runtime's own. All
// others stay here: among them are the keys of model providers.
var inherited = []string{"PATH", "HOME", "TMPDIR", "LANG"}

// environment returns the variables of a program, sorted by name.
func environment(configured map[string]string) []string {
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

// startError says why a program cannot be started.
type startError struct{ text string }

// Error says why, without the program's arguments.
func (e *startError) Error() string { return e.text }

// find returns the path of the program: a name is looked up in the PATH that
// the program itself will have, a relative path starts in its directory.
func (c *Config) find() (string, error) {
	name := c.Command[0]
	if !strings.ContainsRune(name, '/') && !strings.ContainsRune(name, filepath.Separator) {
		return findInPath(name, c.path())
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	// The child changes its directory before it starts the program.
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the command: %w", err)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", &startError{fmt.Sprintf("command %q cannot be run: %v", name, reason(err))}
	}
	return path, nil
}

func (c *Config) path() string {
	if path, ok := c.Env["PATH"]; ok {
		return path
	}
	return os.Getenv("PATH")
}

// findInPath looks a name up in the absolute directories of a PATH. Others
// would make it depend on where the runtime was started.
func findInPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", &startError{fmt.Sprintf("command %q is not installed here: it is in no directory of PATH", name)}
}

// reason returns the innermost error, which does not repeat the path.
func reason(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
