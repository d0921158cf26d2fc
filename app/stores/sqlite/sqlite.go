// Package sqlite is the store driver sqlite, as a component of a program.
package sqlite

import (
	"context"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// Driver returns the driver.
func Driver() app.StoreDriver {
	return app.StoreDriver{Name: settings.StoreSQLite, Migrate: sqlite.Migrate, Open: openFile, OpenReadOnly: openFileReadOnly}
}

func openFile(ctx context.Context, s store.Settings) (*app.Engine, error) {
	st, err := sqlite.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &app.Engine{Store: st, NewDispatcher: local.NewDispatcher}, nil
}

// openFileReadOnly opens a file that another process may be working on. Nothing rings
// then, so anyone who follows a turn polls.
func openFileReadOnly(ctx context.Context, s store.Settings) (*app.Engine, error) {
	st, err := sqlite.OpenReadOnly(ctx, s)
	if err != nil {
		return nil, err
	}
	return &app.Engine{Store: st}, nil
}
