// Package app turns a configuration into running parts: agents, and the store, service and HTTP
// server that run them. Open does it all in one call, for programs that do more than serve. The
// command runtime uses the same parts.
package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/schedule"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// Settings configures an App.
type Settings struct {
	// File is a valid configuration, and Components the components available to it.
	File       *config.File
	Components *Components
	// Version is the program's version, which the server reports.
	Version string
	// NewBuilder returns a builder with the program's additions, for configurations published in
	// the store; if nil, it uses only Components.
	NewBuilder func() *builder.AgentRuntimeBuilder
	// MeterProvider records the server's metrics, and Metrics answers GET /metrics; both may be
	// nil.
	MeterProvider metric.MeterProvider
	Metrics       http.Handler
	// Logger is not nil.
	Logger *zap.Logger
}

// openStore is the part of a store that an App uses.
type openStore interface {
	store.Connection
	store.Revocations
	store.Revisions
}

// App runs one configuration. Its lifecycle is New, Listen, Start, Serve, Shutdown; Open does the
// first three.
type App struct {
	settings Settings
	// runtime, service and store are nil until Start, except in an app from Open.
	runtime *runtime.AgentRuntime
	service *service.Service
	store   openStore
	// fleet manages the revisions; nil until Start.
	fleet *fleet.Fleet
	// schedules creates turns when they are due; nil until Start.
	schedules *schedule.Runner
	// workflows runs workflows; nil until Start.
	workflows *workflow.Engine
	// server answers requests; nil if absent.
	server *server.Server
	// accepted checks the server's credentials, and credentials are accepted once the store is
	// open; both are nil if the server requires none.
	accepted    *auth.Replaceable
	credentials *credentials
	// certificate is nil if the server does not use TLS.
	certificate *certificate
	senders     []component.WebhookSender
	// ends are called when the app shuts down.
	ends []func()
	// stop ends background work started by Open, and release frees its resources; both are nil in
	// an app from New.
	stop    func()
	release func() error
	// drained runs once to hand back the turns; drainErr is its error.
	drained  sync.Once
	drainErr error
}

// New returns an idle app.
func New(settings Settings) *App { return &App{settings: settings} }

// Runtime returns the agents; nil before Start.
func (a *App) Runtime() *runtime.AgentRuntime { return a.runtime }

// Service returns the service that stores and runs turns; nil before Start.
func (a *App) Service() *service.Service { return a.service }

// Workflows returns the workflow engine; nil before Start.
func (a *App) Workflows() *workflow.Engine { return a.workflows }

// Server returns the HTTP server; nil without one and before Listen.
func (a *App) Server() *server.Server { return a.server }

// Handler serves all protocols that the configuration enables, for mounting in a program's own HTTP
// server. It requires an app from Open. See server.Handler for mounting it under a prefix.
func (a *App) Handler() http.Handler { return a.server.Handler() }

// Listen opens the configured address and replies that the server is starting, or holds requests.
// It does nothing without an address. Call Shutdown even after an error, to close the opened
// listeners.
func (a *App) Listen(ctx context.Context) error {
	if a.settings.File.Server.Address() == settings.ListenNone {
		return nil
	}
	if err := a.newServer(); err != nil {
		return err
	}
	if err := a.server.Listen(ctx); err != nil {
		a.server = nil
		return err
	}
	a.server.BeginStartup(a.settings.Components.StartupErrors()...)
	a.settings.Logger.Info("starting", zap.String("address", a.server.LocalURL()))
	return nil
}

// Start prepares the store, mounts the protocols, starts processing the turns in the store with
// rt's agents, and admits requests. Call Shutdown even after an error, to close the opened
// resources.
func (a *App) Start(ctx context.Context, rt *runtime.AgentRuntime) error {
	s := &a.settings
	engine, err := a.reachStore(ctx)
	if err != nil {
		return err
	}
	a.runtime, a.store = rt, engine.Store
	queue, err := engine.NewDispatcher(s.File.Turns.Limit(), s.Logger.Named("dispatch"))
	if err != nil {
		return err
	}
	if err := a.startFleet(ctx, engine.Notifier); err != nil {
		return err
	}
	settings := ServiceSettings(s.File)
	settings.Revisions, settings.Tenants, settings.OnNotify = a.fleet, a.fleet, a.fleet.Heard
	settings.Runtime, settings.Logger = rt, s.Logger.Named("service")
	settings.Store, settings.Dispatcher, settings.Notifier = engine.Store, queue, engine.Notifier
	if s.Components.TurnTools != nil {
		settings.TurnTools = s.Components.TurnTools(s.File, s.Logger.Named("turn_tools"))
	}
	if settings.Webhooks, err = a.newSenders(); err != nil {
		return err
	}
	settings.OnChange = func(turnID string) { a.workflows.TurnChanged(turnID) }
	if settings.Workspaces, err = NewWorkspaces(s.File, s.Logger); err != nil {
		return err
	}
	a.service = service.New(settings)
	if a.workflows, err = workflow.New(workflow.Settings{
		Store: engine.Store, Turns: a.service, Source: a.fleet, Retention: s.File.Store.Retention.Sessions.Std(),
		MaxStarts: s.File.Server.Workflows.StartLimit(), MeterProvider: s.MeterProvider, Logger: s.Logger.Named("workflow"),
	}); err != nil {
		return err
	}
	if err := a.mountSurfaces(ctx); err != nil {
		return err
	}
	if a.schedules, err = schedule.NewRunner(schedule.Settings{Turns: a.service, Schedules: schedulesOf(s.File), Logger: settings.Logger}); err != nil {
		return err
	}
	rt.StartProviders()
	if err := a.service.Start(ctx); err != nil {
		return err
	}
	a.schedules.Start()
	a.workflows.Start()
	if a.server != nil {
		a.server.EndStartup()
	}
	return nil
}

// Serve answers requests until ctx ends, then accepts no more. Turns are processed with or without
// it.
func (a *App) Serve(ctx context.Context) error {
	following, stop := context.WithCancel(ctx)
	var followed sync.WaitGroup
	followed.Go(func() { a.fleet.Follow(following) })
	if a.settings.Components.StoreDriver(a.settings.File).Shared {
		followed.Go(func() { a.credentials.followRevocations(following) })
	}
	var err error
	if a.server == nil {
		<-ctx.Done()
		a.logShutdown()
	} else {
		err = a.serveAndDrain(ctx)
	}
	stop()
	followed.Wait()
	return err
}

// serveAndDrain serves requests until ctx ends. It then rejects new runs but serves all other
// requests until the running steps end or the grace time is up, so that clients can follow their
// runs and answer calls.
func (a *App) serveAndDrain(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- a.server.Serve(serving) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	a.logShutdown()
	_ = a.drainRuns(ctx) // Shutdown reports its errors
	stop()
	return <-ended
}

// logShutdown logs that the app ends because it was told to, unlike a process that is killed.
func (a *App) logShutdown() {
	a.settings.Logger.Info("shutting down", zap.Duration("grace", a.settings.File.Turns.GraceTime()))
}

// drainRuns rejects new runs and hands back the running turns, once, within the grace time.
// Meanwhile clients may still answer waiting runs. It fails if turns did not end in time.
func (a *App) drainRuns(ctx context.Context) error {
	a.drained.Do(func() {
		if a.service == nil {
			return
		}
		if a.server != nil {
			a.server.BeginDrain() // a program with an HTTP server of its own has no Serve
		}
		if a.schedules != nil {
			a.schedules.Close()
		}
		if a.workflows != nil {
			a.workflows.Close()
		}
		grace := a.settings.File.Turns.GraceTime()
		steps, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if a.service.Drain(steps) != nil {
			a.drainErr = fmt.Errorf("the grace time of %s has ended; interrupted steps will be repeated", grace)
		}
		if a.server != nil {
			a.server.DrainClients(steps)
		}
	})
	return a.drainErr
}

// Prepare creates the keys, clients and certificate of another configuration. Calling swap makes
// the server accept and present them. Whether the server requires credentials is fixed at its
// start.
func (a *App) Prepare(s *settings.Server) (swap func(), err error) {
	accept, err := a.credentials.prepareSwap(s)
	if err != nil {
		return nil, err
	}
	present, err := a.certificate.prepareSwap(s.TLS)
	if err != nil {
		return nil, err
	}
	return func() {
		accept()
		present()
	}, nil
}

// responseGrace is how long open responses may delay shutdown after the running steps have ended.
const responseGrace = 5 * time.Second

// Shutdown hands back the running turns within the configured grace time, ends the responses that
// stream them, and closes everything. It does so even if ctx ends: only the values of ctx are used.
// It fails if something did not end in order.
func (a *App) Shutdown(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if a.stop != nil {
		a.stop()
	}
	err := a.drainRuns(ctx)
	if a.server != nil {
		responses, cancel := context.WithTimeout(ctx, responseGrace)
		defer cancel()
		err = errors.Join(err, a.server.Shutdown(responses))
	}
	if a.service != nil {
		a.service.Close()
	}
	for _, end := range a.ends {
		end()
	}
	for _, sender := range a.senders {
		sender.Close()
	}
	if a.fleet != nil {
		a.fleet.Close()
	}
	if a.store != nil {
		err = errors.Join(err, a.store.Close())
	}
	if a.release != nil {
		err = errors.Join(err, a.release())
	}
	return err
}

// ServiceSettings returns the settings for turns. The caller sets the remaining fields.
func ServiceSettings(f *config.File) service.Settings {
	t, keep := &f.Turns, &f.Store.Retention
	settings := service.Settings{
		Lease: t.LeaseTime(), Strikes: t.StrikeLimit(), MemoryLimit: memoryLimit(t.MemoryLimit), Indeterminate: backend.Indeterminate(t.Indeterminate),
		InteractionTimeout: t.InteractionTimeout.Std(), OnTimeout: service.TimeoutPolicy(t.OnInteractionTimeout),
		Revision: service.RevisionPolicy(t.Revision), OnRevisionGone: service.GonePolicy(t.OnRevisionGone), Handoff: service.HandoffPolicy(t.Handoff), KeepRequests: t.KeepRequests,
		EncryptionKey: f.Server.EncryptionBytes(),
		Retention:     store.Retention{Sessions: keep.Sessions.Std(), Events: keep.Events.Std(), Keys: keep.KeyLimit(), Usage: keep.UsageLimit(), Revisions: f.Revisions.Retention.Std()},
	}
	return settings
}

// schedulesOf returns the schedules of a configuration.
func schedulesOf(f *config.File) []schedule.Schedule {
	list := make([]schedule.Schedule, len(f.Schedules))
	for i := range f.Schedules {
		s := &f.Schedules[i]
		tenant, subject := s.Owner(&f.Server)
		list[i] = schedule.Schedule{
			ID: s.ID, Cron: s.Cron, TimeZone: s.TimeZone, AgentID: s.Agent, SessionID: s.Session,
			Input: []model.Message{model.User(string(s.Prompt))}, Owner: service.Caller{Tenant: tenant, Subject: subject},
		}
	}
	return list
}
