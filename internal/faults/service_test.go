package faults_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"go.uber.org/zap"
)

// The stores.
const (
	onSQLite   = "sqlite"
	onPostgres = "postgres"
)

// place is the location and settings of a service. It is passed to the worker processes as JSON.
type place struct {
	Driver string `json:"driver"`
	DSN    string `json:"dsn"`
	// Witness is the path of the tools' marks.
	Witness string `json:"witness"`
	// Lease and Strikes are the service's settings.
	Lease   time.Duration `json:"lease,omitempty"`
	Strikes int           `json:"strikes,omitempty"`
	// Log is the path of the log; empty discards it.
	Log string `json:"log,omitempty"`
	// Memory is the memory limit of a process; 0 means no limit.
	Memory int64 `json:"memory,omitempty"`
}

// plenty is a strike limit that turns whose workers are killed at random never reach.
const plenty = 1 << 20

// engine is a service with all its components.
type engine struct {
	*service.Service
	store store.Store
	stop  []func() // in this order
}

// change is a test's change to a service.
type change func(*service.Settings)

// open opens a service that does no work before Start.
func open(ctx context.Context, p *place, logger *zap.Logger, working func(turnID string), changes ...change) (*engine, error) {
	w, err := openWitness(p.Witness)
	if err != nil {
		return nil, err
	}
	e := &engine{stop: []func(){w.close}}
	rt, err := office(w, working)
	if err != nil {
		return nil, err
	}
	settings := service.Settings{Runtime: rt, Lease: p.Lease, Strikes: p.Strikes, MemoryLimit: p.Memory, Logger: logger}
	kept, queue, notifier, err := p.open(ctx, logger)
	if err != nil {
		return nil, err
	}
	settings.Store, settings.Dispatcher, settings.Notifier = kept, queue, notifier
	for _, c := range changes {
		c(&settings)
	}
	e.Service, e.store = service.New(settings), kept
	e.stop = []func(){e.Close, func() { _ = kept.Close() }, w.close}
	return e, nil
}

// open opens the store of a place and its dispatcher and notifier.
func (p *place) open(ctx context.Context, logger *zap.Logger) (store.Store, dispatch.Dispatcher, dispatch.Notifier, error) {
	kept, err := p.store(ctx, logger)
	if err != nil {
		return nil, nil, nil, err
	}
	shared, ok := kept.(*postgres.Store)
	if !ok {
		return kept, local.New(local.Settings{Logger: logger}), nil, nil
	}
	queue, err := river.New(shared.Pool(), river.Settings{Logger: logger})
	if err != nil {
		return nil, nil, nil, errors.Join(err, kept.Close())
	}
	return kept, queue, shared.Notifier(), nil
}

// store opens the store of a place.
func (p *place) store(ctx context.Context, logger *zap.Logger) (store.Store, error) {
	settings := store.Settings{DSN: p.DSN, Logger: logger}
	if p.Driver == onSQLite {
		return sqlite.Open(ctx, settings)
	}
	return postgres.Open(ctx, settings)
}

func (e *engine) close() {
	for _, stop := range e.stop {
		stop()
	}
}

// migrate makes the tables of a place.
func (p *place) migrate(ctx context.Context) error {
	if p.Driver != onPostgres {
		return nil
	}
	if _, err := postgres.Migrate(ctx, store.Settings{DSN: p.DSN}); err != nil {
		return err
	}
	kept, err := postgres.Open(ctx, store.Settings{DSN: p.DSN})
	if err != nil {
		return err
	}
	_, err = river.Migrate(ctx, kept.Pool())
	if err = errors.Join(err, kept.Close()); err != nil {
		return fmt.Errorf("migrate the place: %w", err)
	}
	return nil
}
