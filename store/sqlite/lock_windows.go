package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/agentruntime/agentruntime/store"
)

// fileLock is a file beside the database that no other process can open while its owner has it
// open. The system releases it when the process ends.
type fileLock struct{ handle syscall.Handle }

// errSharingViolation reports that another process has a file open.
const errSharingViolation syscall.Errno = 32

// acquireLock takes the lock of a database. The error is a *store.LockedError without a PID if
// another process has it.
func acquireLock(path string) (*fileLock, error) {
	name, err := syscall.UTF16PtrFromString(path + ".lock")
	if err != nil {
		return nil, err
	}
	const alone = 0 // the mode of sharing
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, alone, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharingViolation) {
		return nil, &store.LockedError{Path: path}
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s.lock: %w", path, err)
	}
	return &fileLock{handle}, nil
}

// release releases the lock.
func (l *fileLock) release() error {
	if l == nil {
		return nil
	}
	return syscall.CloseHandle(l.handle)
}
