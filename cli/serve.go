package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listen         string
	logFormat      *choice
	verbose, watch bool
}

func newServe(p *program) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve FILE…",
		Short: "Run the server: process stored turns and serve HTTP",
		Long: `serve proves that every agent resolves, makes the store ready, takes over what
dead workers left, and then works on the turns in the store, makes those that
schedules ask for, and answers HTTP requests. It says when it is ready, on
standard error. Until then /healthz is 200, and every other request gets 503. A
server of tools that does not list them within five seconds is asked again later.
A database that cannot be reached is tried again until it can be, and each attempt
is logged; one that rejects the user ends the command.

SIGTERM or SIGINT ends it: it takes no more turns, refuses new runs with 503, lets
the steps under way end, and hands the turns to whoever works on next. After the
grace time of the configuration (turns.grace) steps are cut short and run again
later. Until then it answers all other requests, such as results of tools and
streams. Then open responses have five seconds to end. A second signal ends the process at
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
	cmd.Flags().StringVar(&o.listen, "listen", "", "listen on this `address`, or none; overrides server.listen")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show the runtime's log on standard error")
	o.logFormat = logFormatFlag(cmd)
	cmd.Flags().BoolVar(&o.watch, "watch", false, "reload when one of the files, or a file they refer to, changes")
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
	log := newLogOutput(p.err, o.logFormat)
	k.logger, k.jsonLog = newLogger(log, o.verbose), log.format == logJSON
	defer k.logger.Sync() //nolint:errcheck // a terminal cannot be synced
	l, err := p.load(files, true, k.logger)
	if err != nil {
		return err
	}
	defer l.close()
	k.follow(l)
	k.started, k.redactions, k.warnings = l.file, newRedactions(l.file), l.warnings
	log.redact = k.redactions.redact
	l.file.Server.Listen = cmp.Or(o.listen, l.file.Server.Listen)
	seen, err := observe(ctx, k.logger, k.redactions.redact, l.file.Server.Address() != settings.ListenNone, p.version())
	if err != nil {
		p.printErrorf("the turns are not observed: %v", err)
	}
	seen.telemetry.SetTenants(l.file.Tenants())
	k.telemetry = seen.telemetry
	l.builder.WithTelemetry(seen.telemetry)
	err = p.serveLoaded(ctx, l, k, seen)
	if lost := seen.shutdown(ctx); lost != nil {
		p.printErrorf("%s", k.redactions.redact(lost.Error()))
	}
	return err
}

// serveLoaded listens, proves that every agent resolves, and serves until ctx ends.
// It listens first because servers of tools, peers and the store may be slow:
// until all of them have answered, or took too long, probes find the process alive
// and not ready.
func (p *program) serveLoaded(ctx context.Context, l *loaded, k *keeper, seen *observed) error {
	a := p.newApp(l, k.logger, seen)
	if err := a.Listen(ctx); err != nil {
		return p.complain(context.WithoutCancel(ctx), l, err)
	}
	l.toolTime = app.StartupToolTime
	rt, err := l.build(ctx, p)
	if err != nil {
		return errors.Join(err, a.Shutdown(ctx))
	}
	k.runtime, k.app = rt, a
	err = p.complain(context.WithoutCancel(ctx), l, p.serveUntil(ctx, l, k, seen))
	_ = rt.Close() // of what was published since, too
	return err
}

// serveUntil works on turns and answers requests until ctx ends.
func (p *program) serveUntil(ctx context.Context, l *loaded, k *keeper, seen *observed) error {
	var err error
	if k.metrics, err = newReloadMetrics(seen.meters); err == nil {
		err = k.app.Start(ctx, k.runtime)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = nil // it was asked to end while it waited for the store
		}
		return errors.Join(err, k.app.Shutdown(ctx))
	}
	where := l.file.Store.Driver
	if where == settings.StoreSQLite {
		where += " " + l.file.Store.DSN
	}
	about := []zap.Field{
		zap.Int("agents", len(l.file.Agents)), zap.String("store", where), zap.String("worker", k.app.Service().Worker()),
		zap.String("version", p.version()),
	}
	ready := fmt.Sprintf("%s, store %s, worker %s", count(len(l.file.Agents), "agent", "agents"), l.file.Redact(where), k.app.Service().Worker())
	if s := k.app.Server(); s != nil {
		ready += ", listening on " + s.LocalURL()
		about = append(about, zap.String("address", s.LocalURL()))
	}
	p.printErrorf("ready: %s", ready)
	if k.jsonLog { // the message says it in the other form
		k.logger.Named("serve").Info("ready", about...)
	}
	keeping, stop := context.WithCancel(ctx)
	var kept sync.WaitGroup
	kept.Go(func() { k.run(keeping) })
	kept.Go(func() { app.KeepLearningTools(keeping, k.runtime, k.logger.Named("tools")) })
	err = k.app.Serve(ctx)
	stop()
	kept.Wait()
	return errors.Join(err, k.app.Shutdown(ctx))
}

// newApp returns what works on the turns of a configuration, and answers requests.
func (p *program) newApp(l *loaded, logger *zap.Logger, seen *observed) *app.App {
	return app.New(app.Settings{
		File: l.file, Components: &p.Components, Version: p.version(),
		MeterProvider: seen.meters, Metrics: seen.scrape, Logger: logger,
	})
}
