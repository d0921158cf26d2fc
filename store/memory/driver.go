package memory

import (
	"context"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/driver"
)

// Driver returns the store as a component of a program.
func Driver() driver.Driver {
	return driver.Driver{Name: settings.StoreMemory, Migrate: migrateNothing, Open: openMemory}
}

// migrateNothing does nothing: a store in memory always starts empty.
func migrateNothing(context.Context, store.Settings) ([]string, error) { return nil, nil }

func openMemory(_ context.Context, s store.Settings) (*driver.Engine, error) {
	return &driver.Engine{Store: New(s), NewDispatcher: local.NewDispatcher}, nil
}
