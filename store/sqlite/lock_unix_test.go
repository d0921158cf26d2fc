//go:build unix

package sqlite

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A process that is being started has a copy of each file of its parent for a moment.
func TestALockThatWasGivenUpIsFreeAlthoughAForkHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	lock, err := acquireLock(path)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(lock.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(inherited) }()
	if err := lock.release(); err != nil {
		t.Fatal(err)
	}
	again, err := acquireLock(path)
	if err != nil {
		t.Fatalf("the lock is still held: %v", err)
	}
	if err := again.release(); err != nil {
		t.Error(err)
	}
}
