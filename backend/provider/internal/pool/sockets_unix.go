//go:build unix

package pool

import (
	"os"
	"syscall"
)

// lockFile takes the lock of an open file, which the system gives up with the process;
// false if somebody else has it.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// isOwn reports whether a file belongs to the user of this process, who alone can have
// written to it.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm() == 0o700
}
