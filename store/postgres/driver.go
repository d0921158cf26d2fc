package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/driver"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"go.uber.org/zap"
)

// Driver returns the store as a component of a program.
func Driver() driver.Driver {
	return driver.Driver{Name: settings.StorePostgres, Shared: true, Migrate: migrateDatabase, Open: openDatabase, OpenReadOnly: connectDatabase}
}

func openDatabase(ctx context.Context, s store.Settings) (*driver.Engine, error) {
	if _, err := migrateDatabase(ctx, s); err != nil {
		return nil, err
	}
	return connectDatabase(ctx, s)
}

// connectDatabase opens a database without migrating it.
func connectDatabase(ctx context.Context, s store.Settings) (*driver.Engine, error) {
	st, err := Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &driver.Engine{Store: st, Notifier: st.Notifier(), NewDispatcher: func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error) {
		return river.New(st.Pool(), river.Settings{Concurrency: concurrency, PollOnly: st.IsPooled(), Logger: logger})
	}}, nil
}

// migrateDatabase migrates the record tables, then the queue's.
func migrateDatabase(ctx context.Context, s store.Settings) ([]string, error) {
	records, err := Migrate(ctx, s)
	if err != nil {
		return nil, err
	}
	st, err := Open(ctx, s)
	if err != nil {
		return nil, err
	}
	queue, err := river.Migrate(ctx, st.Pool())
	return slices.Concat(records, queue), errors.Join(err, st.Close())
}
