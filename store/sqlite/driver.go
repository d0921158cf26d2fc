package sqlite

import (
	"context"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/driver"
)

// Driver returns the store as a component of a program.
func Driver() driver.Driver {
	return driver.Driver{Name: settings.StoreSQLite, Migrate: Migrate, Open: openFile, OpenReadOnly: openFileReadOnly}
}

func openFile(ctx context.Context, s store.Settings) (*driver.Engine, error) {
	st, err := Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &driver.Engine{Store: st, NewDispatcher: local.NewDispatcher}, nil
}

// openFileReadOnly opens a file that another process may be using. It has no notifier, so followers
// of a turn poll.
func openFileReadOnly(ctx context.Context, s store.Settings) (*driver.Engine, error) {
	st, err := OpenReadOnly(ctx, s)
	if err != nil {
		return nil, err
	}
	return &driver.Engine{Store: st}, nil
}
