package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/driver"
	"github.com/cenkalti/backoff/v4"
	"go.uber.org/zap"
)

// StoreDriver returns the driver of a configuration's store. If the program was built without it,
// every use fails with a *MissingStoreError.
func (c *Components) StoreDriver(f *config.File) *driver.Driver {
	names := make([]string, 0, len(c.Stores))
	for i := range c.Stores {
		if c.Stores[i].Name == f.Store.Driver {
			return &c.Stores[i]
		}
		names = append(names, c.Stores[i].Name)
	}
	return missingStore(&MissingStoreError{Name: f.Store.Driver, Known: names})
}

// MissingStoreError reports that a configuration names a store that is not in the program's
// Components.
type MissingStoreError struct {
	// Name is the missing store, and Known are the available ones.
	Name  string
	Known []string
}

// Error names the missing store and the available ones.
func (e *MissingStoreError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("store.driver: this program was built without the store %q, and without any other", e.Name)
	}
	return fmt.Sprintf("store.driver: this program was built without the store %q; it has %s", e.Name, strings.Join(e.Known, ", "))
}

// missingStore returns a driver that always fails.
func missingStore(err error) *driver.Driver {
	open := func(context.Context, store.Settings) (*driver.Engine, error) { return nil, err }
	migrate := func(context.Context, store.Settings) ([]string, error) { return nil, err }
	return &driver.Driver{Shared: true, Migrate: migrate, Open: open, OpenReadOnly: open}
}

const (
	// firstStorePause and longestStorePause bound the wait before the next attempt to reach the
	// store; it doubles each time.
	firstStorePause   = 250 * time.Millisecond
	longestStorePause = 5 * time.Second
)

// reachStore opens the store. While its database is unreachable it retries until ctx ends. Any
// other error, such as a wrong password, is returned immediately.
func (a *App) reachStore(ctx context.Context) (*driver.Engine, error) {
	s := &a.settings
	kind, logger := s.Components.StoreDriver(s.File), s.Logger.Named("store")
	open := func() (*driver.Engine, error) {
		engine, err := kind.Open(ctx, StoreSettings(s.File, s.Logger))
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

// StoreSettings returns the settings for opening a configuration's store.
func StoreSettings(f *config.File, logger *zap.Logger) store.Settings {
	return store.Settings{DSN: f.Store.DSN, TenantTurns: f.Turns.PerTenant, Logger: logger.Named("store")}
}
