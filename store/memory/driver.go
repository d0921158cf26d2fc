// Package memory is the store driver memory, as a component of a program.
package memory

import (
	"context"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

// Driver returns the driver.
func Driver() app.StoreDriver {
	return app.StoreDriver{Name: settings.StoreMemory, Migrate: migrateNothing, Open: openMemory}
}

// migrateNothing does nothing: a store in memory is always new.
func migrateNothing(context.Context, store.Settings) ([]string, error) { return nil, nil }

func openMemory(_ context.Context, s store.Settings) (*app.Engine, error) {
	return &app.Engine{Store: memory.New(s), NewDispatcher: local.NewDispatcher}, nil
}
