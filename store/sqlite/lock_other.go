//go:build !unix

package sqlite

import (
	"errors"
	"os"

	"github.com/agentruntime/agentruntime/store"
)

// fileLock is a file beside the database that its owner made and deletes. After
// a crash somebody has to delete it.
type fileLock struct{ path string }

// acquireLock takes the lock of a database. The error is a *store.LockedError
// when another process has it, or crashed with it.
func acquireLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, &store.LockedError{Path: path}
	}
	if err != nil {
		return nil, err
	}
	return &fileLock{path + ".lock"}, file.Close()
}

// release gives the lock up.
func (l *fileLock) release() error {
	if l == nil {
		return nil
	}
	return os.Remove(l.path)
}
