package fleet

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/store"
)

const (
	// pollInterval is the interval of polling for the current revision, in addition to
	// notifications.
	pollInterval = time.Second
	// retryInterval is the pause before building a failed revision again.
	retryInterval = 15 * time.Second
)

// core is shared by the parts of a fleet.
type core struct {
	settings Settings
	// news holds one signal, on which the follower processes all news.
	news chan struct{}
	// editing limits the overlay checks that run for callers to one per tenant, so that no tenant
	// delays others. proving has an element for each running proof.
	editing wait.Keyed[string]
	proving chan struct{}

	mu      sync.Mutex
	running Running
	// file is the running configuration, which knows the values to hide in output.
	file *config.File
}

// Running describes the revision that a process runs.
type Running struct {
	// Number and Hash identify the revision; zero if it is not in the store.
	Number uint64
	Hash   string
	// Wanted is the hash of the store's current revision if it differs, and Problem the reason why
	// this process does not run it.
	Wanted  string
	Problem string
}

// Running returns the revision that the process runs.
func (c *core) Running() Running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

func (c *core) setRunning(r Running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = r
}

// fallBehind records that the process does not run the current revision.
func (c *core) fallBehind(wanted *store.Revision, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running.Wanted, c.running.Problem = wanted.Hash, err.Error()
}

// awaitProof waits for processor capacity for one more proof.
func (c *core) awaitProof(ctx context.Context) (done func(), err error) {
	select {
	case c.proving <- struct{}{}:
		return func() { <-c.proving }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// FromStore reports whether the documents in the store define the runtime.
func (c *core) FromStore() bool { return c.settings.FromStore }

func (c *core) currentFile() *config.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file
}

// documentName is the name of a revision's document. It is also the base of its relative paths.
func (c *core) documentName() string { return filepath.Join(c.settings.Dir, "document") }
