package main

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/dispatch"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// storeDriver is a kind of store that a configuration can name.
type storeDriver struct {
	name string
	// shared tells that several processes may use one store.
	shared bool
	// migrate makes the store ready for this version of the program, and returns
	// what it did to that end.
	migrate func(context.Context, store.Settings) ([]string, error)
	// open does the same, and opens the store to work on what is in it.
	open func(context.Context, store.Settings) (*engine, error)
	// look opens it only to read, beside the processes that work on it; nil where
	// nobody else sees what is kept.
	look func(context.Context, store.Settings) (*engine, error)
}

// engine is an open store, and what brings its turns to workers.
type engine struct {
	store store.Store
	// bell is nil where nothing rings across processes.
	bell dispatch.Bell
	// dispatcher makes what brings turns to this process, at most so many at the
	// same time; nil for a store that is only read.
	dispatcher func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error)
}

// errVolatile is the answer to whoever looks for what another process forgets.
var errVolatile = errors.New("the store is memory, which belongs to the process that serves it: there is nothing to see from outside (use store: {driver: sqlite} or {driver: postgres})")

// driver returns what keeps the store of a configuration.
func (p *program) driver(l *loaded) *storeDriver {
	for i := range p.stores {
		if p.stores[i].name == l.file.Store.Driver {
			return &p.stores[i]
		}
	}
	return nil // not reached: the configuration was checked
}

// settings returns what the store of a configuration is opened with.
func (l *loaded) settings(logger *zap.Logger) store.Settings {
	return store.Settings{DSN: l.file.Store.DSN, TenantTurns: l.file.Turns.PerTenant, Logger: logger.Named("store")}
}

// loadStore reads files for a command that needs their store, and shows what is
// wrong with that. Of what is wrong with agents it takes no notice.
func (p *program) loadStore(files []string) (*loaded, error) {
	l, err := p.load(files, false, zap.NewNop())
	if err != nil {
		return nil, err
	}
	var wrong diag.List
	for _, d := range l.file.Complete(l.found, nil) {
		about := within(d.Path, "store")
		if about && d.Code == diag.UnsetVariable {
			d.Severity = diag.Error
		}
		if d.Severity == diag.Error && (about || l.file.Partial) {
			wrong = append(wrong, d)
		}
	}
	if len(wrong) > 0 {
		l.close()
		return nil, failed(l.refuse(wrong, p.err))
	}
	return l, nil
}
