// Package postgres is the store driver postgres, with the queue that River keeps in
// the same database, as a component of a program.
package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"go.uber.org/zap"
)

// Driver returns the driver.
func Driver() app.StoreDriver {
	return app.StoreDriver{Name: settings.StorePostgres, Shared: true, Migrate: migrateDatabase, Open: openDatabase, OpenReadOnly: connectDatabase}
}

func openDatabase(ctx context.Context, s store.Settings) (*app.Engine, error) {
	if _, err := migrateDatabase(ctx, s); err != nil {
		return nil, err
	}
	return connectDatabase(ctx, s)
}

// connectDatabase opens a database as it is.
func connectDatabase(ctx context.Context, s store.Settings) (*app.Engine, error) {
	st, err := postgres.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &app.Engine{Store: st, Bell: st.Bell(), NewDispatcher: func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error) {
		return river.New(st.Pool(), river.Settings{Concurrency: concurrency, PollOnly: st.IsPooled(), Logger: logger})
	}}, nil
}

// migrateDatabase brings the tables of the records up to date, and then those of the queue.
func migrateDatabase(ctx context.Context, s store.Settings) ([]string, error) {
	records, err := postgres.Migrate(ctx, s)
	if err != nil {
		return nil, err
	}
	st, err := postgres.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	queue, err := river.Migrate(ctx, st.Pool())
	return slices.Concat(records, queue), errors.Join(err, st.Close())
}
