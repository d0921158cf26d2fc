//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/agentruntime/agentruntime/store"
)

// fileLock is held on a file beside the database. The system releases it when the process ends in
// any way.
type fileLock struct{ file *os.File }

// acquireLock takes the lock of a database. The error is a *store.LockedError if another process
// has it.
func acquireLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner := readOwner(file)
		_ = file.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &store.LockedError{Path: path, PID: owner}
		}
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	if err := writeOwner(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &fileLock{file}, nil
}

// readOwner returns the process that holds a lock; 0 if unknown.
func readOwner(file *os.File) int {
	var text [20]byte
	n, _ := file.ReadAt(text[:], 0) // the owner is then unknown
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

func writeOwner(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// release releases the lock. It keeps the file, because deleting it might delete the next owner's
// file.
func (l *fileLock) release() error {
	if l == nil {
		return nil
	}
	// A process that is being started has a copy of the file, and with it the lock, until its
	// program begins. Only an explicit unlock releases it.
	err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	return errors.Join(err, l.file.Close())
}
