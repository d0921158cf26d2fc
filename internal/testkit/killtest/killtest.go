// Package killtest runs copies of a test's process that kill themselves at some point of their
// work, like kill -9.
package killtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// settingsVariable is set to the settings as JSON for processes started by Start.
const settingsVariable = "AGENTRUNTIME_TEST_KILLED_PROCESS"

// Main is the TestMain of a package whose tests call Start. It runs the tests, after which no
// goroutine may be left. In a process started by Start, it runs work with its settings instead.
func Main[S any](m *testing.M, work func(settings *S) error) {
	text := os.Getenv(settingsVariable)
	if text == "" {
		goleak.VerifyTestMain(m)
		return
	}
	settings := new(S)
	err := json.Unmarshal([]byte(text), settings)
	if err == nil {
		err = work(settings)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Start runs a process with settings of Main's type, and reports whether it was killed. The test
// fails if the process did.
func Start(t testing.TB, settings any) (killed bool) {
	t.Helper()
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // the test binary itself
	cmd.Env = append(os.Environ(), settingsVariable+"="+string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() < 0 {
		return true
	}
	if err != nil {
		t.Fatalf("a process with the settings %s: %v\n%s", text, err, &out)
	}
	return false
}

// Point is a point in a process's work at which the process is killed. It is safe for concurrent
// use.
type Point struct {
	number, passed int
	mu             sync.Mutex
}

// NewPoint returns the point with a number, counted from 1. Number 0 is never reached.
func NewPoint(number int) *Point { return &Point{number: number} }

// Pass counts a point. It does not return if the process is to be killed there.
func (p *Point) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passed++; p.passed != p.number {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until it is dead
}
