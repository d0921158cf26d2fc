package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// socketsPrefix is the prefix of the socket directories' names. It is short because socket
	// paths are limited.
	socketsPrefix = "agentprovider"
	// socketsLock is a directory's file that is locked by the process that created the directory.
	socketsLock = "lock"
	// socketsUnlocked is that file's name until it is locked: an unlocked file named socketsLock
	// was left behind.
	socketsUnlocked = "unlocked"
	// makingTime is how long a process may take to lock its new directory.
	makingTime = time.Minute
)

// sockets is a directory for the sockets of processes. A lock, which the system releases with
// this process, marks it as in use.
type sockets struct {
	dir  string
	lock *os.File
}

// makeSockets removes directories left behind by killed processes and creates a new one.
func makeSockets() (*sockets, error) {
	removeAbandoned(os.TempDir())
	dir, err := os.MkdirTemp("", socketsPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a directory for sockets: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, socketsUnlocked), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock a directory for sockets: %w", err), os.RemoveAll(dir))
	}
	s := &sockets{dir, lock}
	if err := lockAs(lock, filepath.Join(dir, socketsLock)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock a directory for sockets: %w", err), s.remove())
	}
	return s, nil
}

// remove removes the directory. A nil s has none.
func (s *sockets) remove() error {
	if s == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(s.dir), s.lock.Close())
}

// removeAbandoned removes the directories of processes that ended without doing so. It ignores
// errors, since the rest does no harm.
func removeAbandoned(parent string) {
	entries, _ := os.ReadDir(parent) // some are better than none
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), socketsPrefix) || !e.IsDir() {
			continue
		}
		if info, err := e.Info(); err == nil && isOwn(info) {
			removeIfAbandoned(filepath.Join(parent, e.Name()), info.ModTime())
		}
	}
}

// removeIfAbandoned removes a directory whose lock no process holds. A directory without a lock
// file is being created; it is removed only if it is old and otherwise empty.
func removeIfAbandoned(dir string, changed time.Time) {
	lock, err := os.OpenFile(filepath.Join(dir, socketsLock), os.O_RDWR, 0)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) && time.Since(changed) > makingTime {
			_ = os.Remove(filepath.Join(dir, socketsUnlocked))
			_ = os.Remove(dir)
		}
		return
	}
	defer lock.Close() // nothing was written
	if lockFile(lock) == nil {
		_ = os.RemoveAll(dir)
	}
}
