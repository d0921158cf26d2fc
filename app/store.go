package app

import (
	"context"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/dispatch"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// StoreDriver is a kind of store that a configuration can name.
type StoreDriver struct {
	Name string
	// Shared is set when several processes may use one store.
	Shared bool
	// Migrate makes the store ready for this version of the program, and returns
	// what it did to that end.
	Migrate func(context.Context, store.Settings) ([]string, error)
	// Open does the same, and opens the store to work on what is in it.
	Open func(context.Context, store.Settings) (*Engine, error)
	// OpenReadOnly opens it beside the processes that work on it; nil where nobody
	// else sees what is kept.
	OpenReadOnly func(context.Context, store.Settings) (*Engine, error)
}

// Engine is an open store, and what brings its turns to workers.
type Engine struct {
	Store store.Store
	// Bell is nil where nothing rings across processes.
	Bell dispatch.Bell
	// NewDispatcher makes what brings turns to this process, at most so many at the
	// same time; nil for a store that is only read.
	NewDispatcher func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error)
}

// StoreSettings returns what the store of a configuration is opened with.
func StoreSettings(f *config.File, logger *zap.Logger) store.Settings {
	return store.Settings{DSN: f.Store.DSN, TenantTurns: f.Turns.PerTenant, Logger: logger.Named("store")}
}
