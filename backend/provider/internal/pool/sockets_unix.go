//go:build unix

package pool

import (
	"os"
	"syscall"
)

// lockFile takes the lock of an open file, which the system gives up with the process. It
// is an error if somebody else has it.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// lockAs locks a file and then gives it the name under which others look for it.
func lockAs(f *os.File, name string) error {
	if err := lockFile(f); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// isOwn reports whether a file belongs to the user of this process, who alone can have
// written to it.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm() == 0o700
}
