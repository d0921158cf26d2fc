//go:build unix

package pool

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// socketsKept is set for a process that creates a socket directory and is then killed.
const socketsKept = "POOL_TEST_SOCKETS"

func TestMain(m *testing.M) {
	if os.Getenv(socketsKept) == "" {
		os.Exit(m.Run())
	}
	made, err := makeSockets()
	if err == nil {
		_, err = net.Listen("unix", filepath.Join(made.dir, "host.sock"))
	}
	fmt.Println(err == nil)
	_, _ = os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(made) // the lock ends with its file
}

// TestSocketsOfAKilledProcessAreRemoved runs two processes, kills one, and adds other files with
// such names.
func TestSocketsOfAKilledProcessAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	killed, alive := keepSockets(t), keepSockets(t)
	if got := entries(t, dir); len(got) != 2 {
		t.Fatalf("two processes have %q", got)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	old := time.Now().Add(-2 * makingTime)
	mkdir := func(name string, mode os.FileMode, changed time.Time, files ...string) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(path, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_ = os.Chtimes(path, changed, changed)
		return path
	}
	target := mkdir("elsewhere", 0o700, old, socketsLock)
	mkdir(socketsPrefix+"-empty", 0o700, old)
	mkdir(socketsPrefix+"-unlocked", 0o700, old, socketsUnlocked)
	mkdir(socketsPrefix+"-new", 0o700, time.Now(), socketsUnlocked)
	mkdir(socketsPrefix+"-other", 0o700, old, "a file")
	mkdir(socketsPrefix+"-shared", 0o755, old, socketsLock)
	if err := os.Symlink(target, filepath.Join(dir, socketsPrefix+"-link")); err != nil {
		t.Fatal(err)
	}
	made, err := makeSockets()
	if err != nil {
		t.Fatal(err)
	}
	got := entries(t, dir)
	for name, kept := range map[string]bool{
		"elsewhere": true, socketsPrefix + "-empty": false, socketsPrefix + "-unlocked": false, socketsPrefix + "-new": true, socketsPrefix + "-other": true, socketsPrefix + "-shared": true, socketsPrefix + "-link": true,
	} {
		if slices.Contains(got, name) != kept {
			t.Errorf("%s is there: %v", name, !kept)
		}
	}
	if len(got) != 7 { // plus the other process's and the new directory
		t.Errorf("there are %q", got)
	}
	if _, err := os.Stat(filepath.Join(target, socketsLock)); err != nil {
		t.Error(err)
	}
	if err := made.remove(); err != nil {
		t.Error(err)
	}
	_ = alive.Process.Kill()
	_ = alive.Wait()
	if made, err = makeSockets(); err != nil {
		t.Fatal(err)
	}
	if err := made.remove(); err != nil {
		t.Error(err)
	}
	if got := entries(t, dir); len(got) != 5 {
		t.Errorf("in the end there are %q", got)
	}
}

// TestSocketsThatAreBeingMadeStay has many pools create their directories concurrently. Each pool
// removes directories that it considers abandoned.
func TestSocketsThatAreBeingMadeStay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var makers sync.WaitGroup
	for range 8 {
		makers.Go(func() {
			for range 100 {
				made, err := makeSockets()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(filepath.Join(made.dir, socketsLock)); err != nil {
					t.Error(err)
				}
				if err := made.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
}

// keepSockets starts a process that holds a socket directory.
func keepSockets(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), socketsKept+"=1")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var made bool
	if _, err := fmt.Fscan(out, &made); err != nil || !made {
		t.Fatalf("no directory was made: %v", err)
	}
	return cmd
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names
}
