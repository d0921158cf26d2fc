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
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	logFlags

	listen string
	watch  bool
}

func newServe(p *program) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve FILE…",
		Short: "Run the server: process stored turns and serve HTTP",
		Long: `serve proves that every agent resolves, prepares the store and takes over the turns of
dead workers. Then it processes the turns in the store, creates the turns of schedules,
and serves HTTP. It reports on standard error when it is ready. Until then /healthz
returns 200 and every other request 503. A tool server that does not list its tools
within five seconds is asked again later. If the database cannot be reached, serve keeps
trying and logs each attempt; if the database rejects the user, the command ends.

On SIGTERM or SIGINT it claims no more turns, rejects new runs with 503, finishes the
current steps, and leaves the turns to the next worker. After turns.grace, steps are
interrupted and repeated later. Until then it serves all other requests, such as tool
results and streams. Open responses then have five seconds to end. A second signal ends
the process immediately.

On SIGHUP it reads the files again. With --watch it also does so when one of them, or a
file that they refer to, changes. If they are valid, their agents and keys are used from
then on; running turns keep the agents that they started with. Otherwise serve reports
the errors and continues unchanged. It lists changes that require a restart.

Exit codes: 0 after a clean shutdown, 1 the configuration is invalid, the store or the
address cannot be used, or something was interrupted, 2 usage or a file cannot be read.`,
		Args:    command.Arguments(1, command.Unlimited),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return checkListen(cmd, o.listen) },
		RunE: func(cmd *cobra.Command, files []string) error {
			return serve(cmd.Context(), p, files, &o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", "", "listen on this `address`, or none; overrides server.listen")
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.watch, "watch", false, "reload when one of the files, or a file they refer to, changes")
	return cmd
}

// checkListen checks an address like server.listen. Whether others may reach it depends on the
// files.
func checkListen(cmd *cobra.Command, address string) error {
	server := settings.Server{Listen: address, AllowUnauthenticated: true}
	list := server.Validate().Errors()
	if len(list) == 0 {
		return nil
	}
	text := "--" + list[0].Message
	if list[0].Hint != "" {
		text += " (" + list[0].Hint + ")"
	}
	return command.Usagef(cmd, "%s", text)
}

func serve(ctx context.Context, p *program, files []string, o *serveOptions) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	k := &keeper{program: p, files: files, listen: o.listen, hangups: hangups}
	if o.watch {
		k.watch = newWatch(files)
	}
	l, err := p.open(files, &o.logFlags, newLogger)
	if err != nil {
		return err
	}
	defer l.close()
	k.follow(l)
	k.logger, k.jsonLog = l.logger, l.log.format == logJSON
	k.started, k.redactions, k.warnings = l.file, redaction.NewSet(l.file), l.warnings
	l.log.redact = k.redactions.Redact
	l.file.Server.Listen = cmp.Or(o.listen, l.file.Server.Listen)
	scrape := l.file.Server.Address() != settings.ListenNone
	return p.whileObserved(ctx, l, "tracing is off", scrape, func(seen *observed) error {
		seen.telemetry.SetTenants(l.file.Tenants())
		k.telemetry = seen.telemetry
		return p.serveLoaded(ctx, l, k, seen)
	})
}

// serveLoaded listens, verifies that every agent resolves, and serves until ctx ends. It listens
// first because tool servers, peers and the store may be slow: until all of them have answered or
// timed out, probes find the process alive but not ready.
func (p *program) serveLoaded(ctx context.Context, l *loaded, k *keeper, seen *observed) error {
	a := p.newApp(l, seen)
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
	_ = rt.Close() // also closes later revisions
	return err
}

// serveUntil processes turns and answers requests until ctx ends.
func (p *program) serveUntil(ctx context.Context, l *loaded, k *keeper, seen *observed) error {
	var err error
	if k.metrics, err = newReloadMetrics(seen.meters); err == nil {
		err = k.app.Start(ctx, k.runtime)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = nil // stopped while waiting for the store
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
	ready := fmt.Sprintf("%s, store %s, worker %s", terminal.Count(len(l.file.Agents), "agent", "agents"), l.file.Redact(where), k.app.Service().Worker())
	if s := k.app.Server(); s != nil {
		ready += ", listening on " + s.LocalURL()
		about = append(about, zap.String("address", s.LocalURL()))
	}
	p.PrintErrorf("ready: %s", ready)
	if k.jsonLog { // the message above is not JSON
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

// newApp returns the app that processes a configuration's turns and answers requests.
func (p *program) newApp(l *loaded, seen *observed) *app.App {
	return app.New(app.Settings{
		File: l.file, Components: &p.Components, Version: p.version(),
		MeterProvider: seen.meters, Metrics: seen.scrape, Logger: l.logger,
	})
}
