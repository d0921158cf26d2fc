// Package driver has the types by which a program lists the stores that it can open.
package driver

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"go.uber.org/zap"
)

// Driver is a kind of store that a configuration can name.
type Driver struct {
	Name string
	// Shared is set when several processes may use one store.
	Shared bool
	// Migrate prepares the store for this version of the program and returns the migrations that
	// it applied.
	Migrate func(context.Context, store.Settings) ([]string, error)
	// Open migrates and opens the store.
	Open func(context.Context, store.Settings) (*Engine, error)
	// OpenReadOnly opens the store beside the processes that use it; nil if its contents are not
	// visible to other processes.
	OpenReadOnly func(context.Context, store.Settings) (*Engine, error)
}

// Engine is an open store, and what brings its turns to workers.
type Engine struct {
	Store store.Store
	// Notifier is nil for a store that only one process uses.
	Notifier dispatch.Notifier
	// NewDispatcher makes what brings turns to this process, at most so many at the
	// same time; nil for a store that is only read.
	NewDispatcher func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error)
}
