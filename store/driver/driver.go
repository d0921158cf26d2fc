// Package driver defines the types with which a program lists the stores that it can open.
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
	// Shared reports whether several processes may use one store.
	Shared bool
	// Migrate prepares the store for this version of the program and returns the migrations that
	// it applied.
	Migrate func(context.Context, store.Settings) ([]string, error)
	// Open migrates and opens the store.
	Open func(context.Context, store.Settings) (*Engine, error)
	// OpenReadOnly opens the store while other processes use it; nil if other processes cannot see
	// its contents.
	OpenReadOnly func(context.Context, store.Settings) (*Engine, error)
}

// Engine is an open store with the means to dispatch its turns to workers.
type Engine struct {
	Store store.Store
	// Notifier is nil for a store that only one process uses.
	Notifier dispatch.Notifier
	// NewDispatcher returns a dispatcher that runs at most concurrency turns at a time in this
	// process; nil for a read-only store.
	NewDispatcher func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error)
}
