//go:build unix

package pool

import (
	"os"
	"syscall"
)

// lockFile locks an open file; the system releases the lock with the process. It fails if another
// process holds the lock.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// lockAs locks a file and then renames it to the name that others look for.
func lockAs(f *os.File, name string) error {
	if err := lockFile(f); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// isOwn reports whether a file belongs to this process's user, who alone can have written it.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm() == 0o700
}
