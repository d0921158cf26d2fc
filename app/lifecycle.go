package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/schedule"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workflow"
	"go.uber.org/zap"
)

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
