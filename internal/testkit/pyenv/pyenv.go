// Package pyenv gives tests a Python with the packages that they name in a requirements file,
// pinned with hashes, from the Python Package Index.
package pyenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// installTimeout limits the time for pip.
const installTimeout = 4 * time.Minute

// Interpreter returns a Python with only the packages of a requirements file. The environment is
// created once per file and kept in the user's cache. Without Python or a network the test is
// skipped, or fails in CI. Short tests are skipped.
func Interpreter(t testing.TB, requirements []byte) string {
	t.Helper()
	if testing.Short() {
		t.Skip("pip takes a while")
	}
	interpreter, err := prepareEnvironment(t.Context(), requirements)
	if err != nil {
		needs.Missing(t, err)
	}
	return interpreter
}

// prepareEnvironment returns the interpreter of an environment, creating it if missing. It is safe
// for concurrent processes: each creates its own environment, and the first one is kept.
func prepareEnvironment(ctx context.Context, requirements []byte) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("no Python: python3 is not in PATH")
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	version, err := exec.CommandContext(ctx, python, "-c", "import sys; print(sys.version, sys.prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("ask Python for its version: %w", err)
	}
	sum := sha256.Sum256(append(version, requirements...))
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "agentruntime-tests")
	dir := filepath.Join(cache, "python-"+hex.EncodeToString(sum[:8]))
	interpreter := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(interpreter); err == nil {
		return interpreter, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("make a directory for environments: %w", err)
	}
	fresh, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", fmt.Errorf("make a directory for an environment: %w", err)
	}
	defer os.RemoveAll(fresh) // it has been renamed or is useless
	if err := installPackages(ctx, python, fresh, requirements); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, missing := os.Stat(interpreter); missing != nil {
			return "", fmt.Errorf("keep the environment: %w", err)
		}
	}
	return interpreter, nil
}

// installPackages creates an environment with the packages.
func installPackages(ctx context.Context, python, dir string, requirements []byte) error {
	if said, err := exec.CommandContext(ctx, python, "-m", "venv", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m venv: %w: is python3-venv installed?\n%s", err, said)
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o600); err != nil {
		return fmt.Errorf("write the requirements: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps",
		"--require-hashes", "--only-binary", ":all:", "--disable-pip-version-check", "--no-input", "-r", list)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pip install: %w\n%s", err, said)
	}
	return nil
}
