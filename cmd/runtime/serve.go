package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func newServe(p *program) *cobra.Command {
	verbose := false
	cmd := &cobra.Command{
		Use:   "serve FILE…",
		Short: "Work on the turns that are in the store",
		Long: `serve proves that every agent resolves, makes the store ready, takes over what
dead workers left, and then works on the turns in the store and makes those that
schedules ask for. It says when it is ready, on standard error.

SIGTERM or SIGINT ends it: it takes no more turns, lets the steps under way end,
and hands the turns to whoever works on next. After the grace time of the
configuration (turns.grace) steps are cut short and run again later. A second
signal ends the process at once.

Exit codes: 0 after a clean end, 1 the configuration is invalid, the store
cannot be used or the grace time was over, 2 usage or a file that cannot be
read.`,
		Args: arguments(1, unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			return serve(cmd.Context(), p, files, verbose)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show the runtime's log on standard error")
	return cmd
}

func serve(ctx context.Context, p *program, files []string, verbose bool) error {
	log := &logOutput{out: p.err}
	logger := newLogger(log, verbose)
	l, err := p.load(files, true, logger)
	if err != nil {
		return err
	}
	defer l.close()
	log.redact = l.file.Redact
	seen, err := observe(ctx, logger, l.file.Redact)
	if err != nil {
		fmt.Fprintf(p.err, "runtime: the turns are not observed: %v\n", err)
	}
	l.builder.WithTelemetry(seen.telemetry)
	rt, err := l.build(ctx, p)
	if err == nil {
		err = p.complain(context.WithoutCancel(ctx), l, p.serveUntil(ctx, l, rt, logger))
		_ = rt.Close() // of what was published since, too
	}
	if lost := seen.shutdown(ctx); lost != nil {
		fmt.Fprintf(p.err, "runtime: %s\n", l.file.Redact(lost.Error()))
	}
	return err
}

// serveUntil works on turns until ctx ends.
func (p *program) serveUntil(ctx context.Context, l *loaded, rt *runtime.AgentRuntime, logger *zap.Logger) error {
	s, err := p.start(ctx, l, rt, logger)
	if err != nil {
		return err
	}
	where := l.file.Store.Driver
	if where == spec.StoreSQLite {
		where += " " + l.file.Store.DSN
	}
	fmt.Fprintf(p.err, "runtime: ready: %s, store %s, worker %s\n", count(len(l.file.Agents), "agent", "agents"), l.file.Redact(where), s.service.Worker)
	<-ctx.Done()
	return s.end(ctx)
}

// server is a service at work, with what it stands on.
type server struct {
	service *runtime.Service
	store   store.Store
	grace   time.Duration
}

// start makes the store ready and begins to work on what is in it. What is
// already there when it returns an error is closed again.
func (p *program) start(ctx context.Context, l *loaded, rt *runtime.AgentRuntime, logger *zap.Logger) (*server, error) {
	e, err := p.driver(l).open(ctx, l.settings(logger))
	if err != nil {
		return nil, err
	}
	queue, err := e.dispatcher(l.file.Turns.Limit(), logger.Named("dispatch"))
	if err != nil {
		return nil, errors.Join(err, e.store.Close())
	}
	settings := serviceSettings(l.file)
	settings.Runtime, settings.Logger = rt, logger.Named("service")
	settings.Store, settings.Dispatcher, settings.Bell = e.store, queue, e.bell
	s := &server{service: runtime.NewService(settings), store: e.store, grace: l.file.Turns.GraceTime()}
	if err := s.service.Start(ctx); err != nil {
		s.service.Close()
		return nil, errors.Join(err, e.store.Close())
	}
	return s, nil
}

// end hands back the turns under way within the grace time, and closes
// everything. The error says that something did not end as it should.
func (s *server) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	err := s.service.Drain(ctx)
	if err != nil {
		err = fmt.Errorf("the grace time of %s is over; the steps under way are run again", s.grace)
	}
	s.service.Close()
	return errors.Join(err, s.store.Close())
}

// serviceSettings returns what a configuration says about turns and schedules.
func serviceSettings(f *config.File) runtime.ServiceSettings {
	t, keep := &f.Turns, &f.Store.Retention
	settings := runtime.ServiceSettings{
		Lease: t.LeaseTime(), Strikes: t.StrikeLimit(), Indeterminate: backend.Indeterminate(t.Indeterminate),
		InteractionTimeout: t.InteractionTimeout.Std(), OnTimeout: runtime.TimeoutPolicy(t.OnInteractionTimeout),
		Retention: store.Retention{Sessions: keep.Sessions.Std(), Events: keep.Events.Std(), Keys: keep.KeyLimit()},
	}
	for i := range f.Schedules {
		s := &f.Schedules[i]
		tenant, subject := s.Owner()
		settings.Schedules = append(settings.Schedules, runtime.Schedule{
			ID: s.ID, Cron: s.Cron, TimeZone: s.TimeZone, AgentID: s.Agent, SessionID: s.Session,
			Input: []model.Message{model.User(string(s.Prompt))}, Owner: runtime.Caller{Tenant: tenant, Subject: subject},
		})
	}
	return settings
}
