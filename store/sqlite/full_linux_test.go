package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

func TestAFullDiskIsReportedAndRecoversByItself(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	// Registered before the store is opened, so that it is closed by then.
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := reopen(t, filepath.Join(dir, "runtime.db"))
	newSession(t, s, "session")
	c := running(t, s, "session", "turn")
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	fillDisk(t, dir)

	refused := writeUntilRefused(t, func(n int) error {
		_, err := s.CreateSession(t.Context(), sessionOf(fmt.Sprint("more", n)))
		return err
	})
	large := commit("turn", c.Turn.Fence, 0, 1)
	large.State = make([]byte, 1<<20)
	lease := []store.Held{{TurnID: "turn", Fence: c.Turn.Fence}}
	_, beat := s.Heartbeat(t.Context(), "worker", time.Minute, lease)
	for what, err := range map[string]error{
		"a session": refused, "a commit": s.Commit(t.Context(), large), "a ping": s.Ping(t.Context()), "a second ping": s.Ping(t.Context()), "a heartbeat": beat,
	} {
		if !errors.Is(err, store.ErrNotWritable) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s on a full disk: %v", what, err)
		}
	}
	if kept, err := s.Turn(t.Context(), store.Everything, "turn"); err != nil || kept.Status != store.Running || kept.Fence != c.Turn.Fence {
		t.Errorf("the turn is %+v, %v", kept, err)
	}
	if events, err := s.Events(t.Context(), "turn", 0, 10); err != nil || len(events) != 0 {
		t.Errorf("a commit that was refused left %d events, %v", len(events), err)
	}

	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a ping where there is room again: %v", err)
	}
	if err := s.Commit(t.Context(), large); err != nil {
		t.Errorf("the commit where there is room again: %v", err)
	}
	if err := s.Commit(t.Context(), finish(c, 1)); err != nil {
		t.Errorf("the end of the turn: %v", err)
	}
}

// fillDisk leaves no room in a file system.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 4<<10); err == nil; {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// writeUntilRefused writes until a write fails: some fit into what the log of the
// database holds already.
func writeUntilRefused(t *testing.T, write func(n int) error) error {
	t.Helper()
	for n := range 1000 {
		if err := write(n); err != nil {
			return err
		}
	}
	t.Fatal("a full disk takes 1000 writes")
	return nil
}
