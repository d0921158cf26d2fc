package a2asdk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
)

// pythonScripts returns the directory with the driver of the Python SDK. It is created once per
// test binary and removed with it.
var pythonScripts = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "a2apython")
	if err != nil {
		return "", fmt.Errorf("make a directory for the driver: %w", err)
	}
	return dir, errors.Join(removeAtExit(dir), unpackDrivers(dir, "testdata/python"))
})

// pythonCommand returns the command that starts the Python SDK's driver.
func pythonCommand(t testing.TB) []string {
	t.Helper()
	requirements, err := scripts.ReadFile("testdata/python/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	interpreter := pyenv.Interpreter(t, requirements)
	dir, err := pythonScripts()
	if err != nil {
		t.Fatal(err)
	}
	return []string{interpreter, "-B", filepath.Join(dir, "driver.py")}
}
