// Package memory is a store that keeps everything in the memory of one process and loses it when
// the process ends. It is for tests and for runtimes that need no more.
//
// It is an SQLite database in memory, guarded by one lock. Jobs are queued after the lock is
// released.
package memory

import (
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// Store is a store.Store in memory.
type Store = sqlite.Store

// New returns an empty store. It need not be closed.
func New(s store.Settings) *Store { return sqlite.OpenInMemory(s) }
