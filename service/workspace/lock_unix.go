//go:build unix

package workspace

import (
	"os"
	"syscall"
)

// lockFile takes the lock of an open file, which the system releases with the process; false if it
// is already held.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
