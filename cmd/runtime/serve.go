package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listen         string
	verbose, watch bool
}

func newServe(p *program) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve FILE…",
		Short: "Work on the turns that are in the store, and answer HTTP",
		Long: `serve proves that every agent resolves, makes the store ready, takes over what
dead workers left, and then works on the turns in the store, makes those that
schedules ask for, and answers HTTP requests. It says when it is ready, on
standard error. Until then /healthz is 200, and every other request gets 503. A
server of tools that does not list them within five seconds is asked again later.

SIGTERM or SIGINT ends it: it takes no more requests and turns, lets the steps
under way end, and hands the turns to whoever works on next. After the grace time
of the configuration (turns.grace) steps are cut short and run again later. Then
open responses have five seconds to end. A second signal ends the process at
once.

SIGHUP makes it read the files again, and so does a change of one of them, or of
one that they refer to, with --watch. When all is well with them the agents and
keys of the files count from then on; turns under way end with the agents they
began with. Otherwise it shows what is wrong and goes on as before. What has
changed and waits for the next start is named.

Exit codes: 0 after a clean end, 1 the configuration is invalid, the store or the
address cannot be used, or something had to be cut short, 2 usage or a file that
cannot be read.`,
		Args: arguments(1, unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			return serve(cmd.Context(), p, files, &o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", "", "listen at this `address`, or none, whatever server.listen says")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show the runtime's log on standard error")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "read the files again when one of them changes, or one that they refer to")
	return cmd
}

func serve(ctx context.Context, p *program, files []string, o *serveOptions) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	k := &keeper{program: p, files: files, listen: o.listen, hangups: hangups}
	if o.watch {
		k.watch = newWatch(files)
	}
	log := &logOutput{out: p.err}
	k.logger = newLogger(log, o.verbose)
	l, err := p.load(files, true, k.logger)
	if err != nil {
		return err
	}
	defer l.close()
	k.follow(l)
	k.started, k.redactions, k.warnings = l.file, newRedactions(l.file), l.warnings
	log.redact = k.redactions.redact
	l.file.Server.Listen = cmp.Or(o.listen, l.file.Server.Listen)
	seen, err := observe(ctx, k.logger, k.redactions.redact, l.file.Server.Address() != spec.ListenNone)
	if err != nil {
		fmt.Fprintf(p.err, "runtime: the turns are not observed: %v\n", err)
	}
	l.builder.WithTelemetry(seen.telemetry)
	err = p.serveLoaded(ctx, l, k, seen)
	if lost := seen.shutdown(ctx); lost != nil {
		fmt.Fprintf(p.err, "runtime: %s\n", k.redactions.redact(lost.Error()))
	}
	return err
}

// serveLoaded listens, proves that every agent resolves, and serves until ctx ends.
// It listens first because servers of tools, peers and the store may be slow:
// until all of them have answered, or took too long, probes find the process alive
// and not ready.
func (p *program) serveLoaded(ctx context.Context, l *loaded, k *keeper, seen *observed) error {
	w := &work{grace: l.file.Turns.GraceTime()}
	if err := p.listen(ctx, l, w, k, seen); err != nil {
		return p.complain(context.WithoutCancel(ctx), l, err)
	}
	l.toolTime = startupToolTime
	rt, err := l.build(ctx, p)
	if err != nil {
		return errors.Join(err, w.end(ctx))
	}
	k.runtime = rt
	err = p.complain(context.WithoutCancel(ctx), l, p.serveUntil(ctx, l, w, k, seen))
	_ = rt.Close() // of what was published since, too
	return err
}

// serveUntil works on turns and answers requests until ctx ends.
func (p *program) serveUntil(ctx context.Context, l *loaded, w *work, k *keeper, seen *observed) error {
	metrics, err := newReloadMetrics(seen.meters)
	if err == nil {
		err = p.start(ctx, l, w, k.runtime, k.logger)
	}
	if err != nil {
		return errors.Join(err, w.end(ctx))
	}
	k.credentials, k.metrics = w.credentials, metrics
	where := l.file.Store.Driver
	if where == spec.StoreSQLite {
		where += " " + l.file.Store.DSN
	}
	ready := fmt.Sprintf("%s, store %s, worker %s", count(len(l.file.Agents), "agent", "agents"), l.file.Redact(where), w.service.Worker)
	if w.http != nil {
		ready += ", listening on " + w.http.LocalURL()
	}
	fmt.Fprintf(p.err, "runtime: ready: %s\n", ready)
	keeping, stop := context.WithCancel(ctx)
	var kept sync.WaitGroup
	kept.Go(func() { k.run(keeping) })
	kept.Go(func() { k.learnTools(keeping) })
	if p.driver(l).shared {
		kept.Go(func() { w.credentials.follow(keeping) })
	}
	if w.http == nil {
		<-ctx.Done()
	} else {
		err = w.http.Serve(ctx)
	}
	stop()
	kept.Wait()
	return errors.Join(err, w.end(ctx))
}

// work is a service at work, with what it stands on.
type work struct {
	// service and store are nil until they are started.
	service *runtime.Service
	store   store.Store
	// http answers requests; nil answers none.
	http *server.Server
	// accepted is what http asks about credentials, and credentials those that it
	// accepts once the store is open; both are nil where nobody needs one.
	accepted    *server.Replaceable
	credentials *credentials
	senders     []webhookSender
	grace       time.Duration
}

// start makes the store ready, mounts the protocols, begins to work on what is in
// the store, and lets requests in. What is open when it returns an error is closed
// with the work.
func (p *program) start(ctx context.Context, l *loaded, w *work, rt *runtime.AgentRuntime, logger *zap.Logger) error {
	e, err := p.driver(l).open(ctx, l.settings(logger))
	if err != nil {
		return err
	}
	w.store = e.store
	queue, err := e.dispatcher(l.file.Turns.Limit(), logger.Named("dispatch"))
	if err != nil {
		return err
	}
	settings := serviceSettings(l.file)
	settings.Runtime, settings.Logger = rt, logger.Named("service")
	settings.Store, settings.Dispatcher, settings.Bell = e.store, queue, e.bell
	settings.TurnTools = p.turnTools(l.file, logger.Named("turn_tools"))
	if settings.Webhooks, err = p.senders(l, w); err != nil {
		return err
	}
	w.service = runtime.NewService(settings)
	if err := p.mount(ctx, l, w, logger); err != nil {
		return err
	}
	if err := w.service.Start(ctx); err != nil {
		return err
	}
	if w.http != nil {
		w.http.EndStartup()
	}
	return nil
}

// responseGrace is how long open responses may hold up the end of the program,
// once the steps under way have ended.
const responseGrace = 5 * time.Second

// end hands back the turns under way within the grace time, ends the responses
// that show them, and closes everything. The error says that something did not
// end as it should.
func (w *work) end(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	steps, cancel := context.WithTimeout(ctx, w.grace)
	defer cancel()
	var err error
	if w.service != nil && w.service.Drain(steps) != nil {
		err = fmt.Errorf("the grace time of %s is over; the steps under way are run again", w.grace)
	}
	if w.http != nil {
		responses, cancel := context.WithTimeout(ctx, responseGrace)
		defer cancel()
		err = errors.Join(err, w.http.Shutdown(responses))
	}
	if w.service != nil {
		w.service.Close()
	}
	for _, sender := range w.senders {
		sender.Close()
	}
	if w.store != nil {
		err = errors.Join(err, w.store.Close())
	}
	return err
}

// serviceSettings returns what a configuration says about turns and schedules.
func serviceSettings(f *config.File) runtime.ServiceSettings {
	t, keep := &f.Turns, &f.Store.Retention
	settings := runtime.ServiceSettings{
		Lease: t.LeaseTime(), Strikes: t.StrikeLimit(), Indeterminate: backend.Indeterminate(t.Indeterminate),
		InteractionTimeout: t.InteractionTimeout.Std(), OnTimeout: runtime.TimeoutPolicy(t.OnInteractionTimeout),
		EncryptionKey: f.Server.EncryptionBytes(),
		Retention:     store.Retention{Sessions: keep.Sessions.Std(), Events: keep.Events.Std(), Keys: keep.KeyLimit()},
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
