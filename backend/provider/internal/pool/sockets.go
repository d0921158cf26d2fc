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
	// socketsPrefix begins the names of directories for sockets. It is short: the paths of
	// sockets are limited.
	socketsPrefix = "agentprovider"
	// socketsLock is the file of a directory that the process holds a lock of which made it.
	socketsLock = "lock"
	// socketsUnlocked is the name of that file until it is locked: a file with the name
	// socketsLock that nobody has locked was left behind.
	socketsUnlocked = "unlocked"
	// makingTime is how long a process may take to lock the directory that it has made.
	makingTime = time.Minute
)

// sockets is a directory for the sockets of processes. A lock, which the system releases with
// this process, marks it as in use.
type sockets struct {
	dir  string
	lock *os.File
}

// makeSockets makes a directory, after it has removed those that other processes left
// behind which were killed.
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

// remove removes the directory. A nil one has none.
func (s *sockets) remove() error {
	if s == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(s.dir), s.lock.Close())
}

// removeAbandoned removes the directories of processes that have ended without doing it
// themselves. What cannot be removed stays: it is in nobody's way.
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

// removeIfAbandoned removes a directory that no process holds the lock of. One without a
// lock is being made, unless it is old, and is removed only if nothing else is in it.
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
