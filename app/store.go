package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/cenkalti/backoff/v4"
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

// MissingStoreError reports that a configuration names a store that the program was built
// without: Components does not list it.
type MissingStoreError struct {
	// Name is the store, and Known are those that the program has.
	Name  string
	Known []string
}

// Error names the store and those there are.
func (e *MissingStoreError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("store.driver: this program was built without the store %q, and without any other", e.Name)
	}
	return fmt.Sprintf("store.driver: this program was built without the store %q; it has %s", e.Name, strings.Join(e.Known, ", "))
}

// missingStore returns a driver that fails.
func missingStore(err error) *StoreDriver {
	open := func(context.Context, store.Settings) (*Engine, error) { return nil, err }
	migrate := func(context.Context, store.Settings) ([]string, error) { return nil, err }
	return &StoreDriver{Shared: true, Migrate: migrate, Open: open, OpenReadOnly: open}
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

const (
	// firstStorePause and longestStorePause are how long the start waits before it tries
	// again to reach the store; pauses double in between.
	firstStorePause   = 250 * time.Millisecond
	longestStorePause = 5 * time.Second
)

// reachStore opens the store. While its database is unreachable it tries again, until ctx
// ends. Any other error, such as a wrong password, is returned at once.
func (a *App) reachStore(ctx context.Context) (*Engine, error) {
	s := &a.settings
	driver, logger := s.Components.StoreDriver(s.File), s.Logger.Named("store")
	open := func() (*Engine, error) {
		engine, err := driver.Open(ctx, StoreSettings(s.File, s.Logger))
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			err = backoff.Permanent(err)
		}
		return engine, err
	}
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstStorePause), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(longestStorePause), backoff.WithMaxElapsedTime(0))
	return backoff.RetryNotifyWithData(open, backoff.WithContext(pause, ctx), func(err error, next time.Duration) {
		logger.Error("store unreachable; retrying", zap.Duration("in", next), zap.Error(err))
	})
}

// StoreSettings returns what the store of a configuration is opened with.
func StoreSettings(f *config.File, logger *zap.Logger) store.Settings {
	return store.Settings{DSN: f.Store.DSN, TenantTurns: f.Turns.PerTenant, Logger: logger.Named("store")}
}
