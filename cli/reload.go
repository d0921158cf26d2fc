package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/zap"
)

// keeper keeps a server up to date: it reloads the configuration on request or when a file changes,
// and refreshes the agents of peers at intervals. A single goroutine does all of it, so the tasks
// never overlap.
type keeper struct {
	program *program
	runtime *runtime.AgentRuntime
	// files are the names of the files to reload; listen overrides their listen address, if set.
	files  []string
	listen string
	// started is the initial configuration, for comparing settings that need a restart.
	started *config.File
	// app processes the turns.
	app        *app.App
	redactions *redaction.Set
	// warnings are the warnings of the current configuration.
	warnings *warnings
	// hangups requests a reload; watch, if not nil, detects changed files.
	hangups <-chan os.Signal
	watch   *watch
	metrics *reloadMetrics
	// telemetry distinguishes tenants; nil if nothing is observed.
	telemetry *telemetry.Telemetry
	logger    *zap.Logger
	// jsonLog is set if the log is in JSON.
	jsonLog bool
}

// run runs until ctx ends.
func (k *keeper) run(ctx context.Context) {
	discovery := time.NewTimer(app.DiscoveryWait(k.runtime, nil))
	defer discovery.Stop()
	var ticks <-chan time.Time
	if k.watch != nil {
		ticker := time.NewTicker(watchInterval)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-k.hangups:
			k.reload(ctx)
		case <-ticks:
			if !k.watch.changed() {
				continue
			}
			k.reload(ctx)
		case <-discovery.C:
			err = app.Rediscover(ctx, k.runtime, k.logger.Named("discovery"))
		}
		discovery.Reset(app.DiscoveryWait(k.runtime, err))
	}
}

// maxProblem limits how much of a configuration's problems the log repeats, in bytes.
const maxProblem = 4 << 10

// reload replaces the configuration with the files' current content, or logs why it stays.
func (k *keeper) reload(ctx context.Context) {
	logger := k.logger.Named("config")
	if k.watch != nil {
		k.watch.accept()
	}
	var shown bytes.Buffer // for the diagnostics in the log
	p := *k.program
	p.Err = io.MultiWriter(k.program.Err, &shown)
	number, restart, err := k.replace(ctx, &p)
	if ctx.Err() != nil {
		return
	}
	k.metrics.reloaded(ctx, err == nil)
	if err != nil {
		said := "it is shown above"
		problem := clip.At(maxProblem, strings.TrimSpace(shown.String()))
		if !errors.As(err, new(command.Exit)) {
			said = k.redactions.Redact(err.Error())
			problem = said
		}
		k.program.PrintErrorf("not reloaded; the current configuration stays in use: %s", said)
		logger.Error("new configuration rejected; the current one stays in use", zap.String("problem", problem))
		return
	}
	k.program.PrintErrorf("reloaded: revision %d", number)
	logger.Info("configuration reloaded", zap.Uint64("revision", number))
	if len(restart) > 0 {
		k.program.PrintErrorf("warning: restart required to apply settings: %s", strings.Join(restart, ", "))
		logger.Warn("restart required to apply settings", zap.Strings("settings", restart))
	}
}

// follow makes the watch, if any, observe all files of a configuration, even an invalid one, since
// the error may be in any of them. Files read by components are not included yet.
func (k *keeper) follow(l *loaded) {
	if k.watch != nil {
		k.watch.follow(append(l.file.Files(), k.files...)) // including directories
	}
}

// replace reads the files, proves that all agents resolve, and makes them current. It returns the
// number of the revision and the changed settings that need a restart. Problems are shown by p,
// and the error is then an exit.
func (k *keeper) replace(ctx context.Context, p *program) (number uint64, restart []string, err error) {
	l, err := p.load(k.files, true, k.logger)
	if err != nil {
		return 0, nil, err
	}
	k.follow(l)
	l.replaces = k.runtime.AcquireRevision()
	defer l.replaces.Release()
	defer func() {
		if err != nil {
			k.redactions.Drop(l.file)
			l.close()
		}
	}()
	k.redactions.Add(l.file)
	l.file.Server.Listen = cmp.Or(k.listen, l.file.Server.Listen)
	if err := l.prove(ctx, p); err != nil {
		return 0, nil, err
	}
	k.warnings.pause()
	defer k.warnings.resume()
	restart = waiting(k.started, l.file)
	swap, err := k.app.Prepare(&l.file.Server)
	if err != nil {
		return 0, nil, err
	}
	rev, err := k.publish(ctx, l)
	if err != nil {
		return 0, nil, err
	}
	k.warnings.replace(l)
	swap()
	k.telemetry.SetTenants(l.file.Tenants())
	number = rev.Number()
	if revisions := k.app.Fleet(); revisions.FromStore() {
		number = revisions.Running().Number
	}
	return number, restart, nil
}

// publish makes the declarations current, unless the store decides which agents exist.
func (k *keeper) publish(ctx context.Context, l *loaded) (*registry.Revision, error) {
	revisions := k.app.Fleet()
	if revisions.FromStore() {
		if revisions.ReportIgnored(l.file) {
			k.program.PrintErrorf("the agents of the files are ignored: revisions.source is store; publish them with %q", l.command+" apply")
		}
		l.close()
		return k.runtime.Revision(), nil
	}
	if err := revisions.RecordFile(ctx, l.file); err != nil {
		return nil, err
	}
	return l.builder.Publish(ctx, k.runtime)
}

// reloadable are the server settings that apply on reload if the server requires credentials.
var reloadable = []string{"keys", "jwt", "oauth"}

// waiting names the changed settings that take effect only after a restart. A running server
// never starts or stops requiring credentials or issuing tokens: its listeners and surfaces are
// fixed at start.
func waiting(began, now *config.File) []string {
	var names []string
	differ := func(name string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			names = append(names, name)
		}
	}
	differ("store", began.Store, now.Store)
	differ("revisions", began.Revisions, now.Revisions)
	differ("turns", began.Turns, now.Turns)
	differ("schedules", began.Schedules, now.Schedules)
	asked := began.Server.Authenticated() && now.Server.Authenticated()
	a, b := reflect.ValueOf(began.Server), reflect.ValueOf(now.Server)
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		switch {
		case name == "tls" && began.Server.TLS != nil && now.Server.TLS != nil: // the certificate is replaced
		case name == "oauth" && (began.Server.OAuth == nil) != (now.Server.OAuth == nil),
			!asked, !slices.Contains(reloadable, name):
			differ("server."+name, a.Field(i).Interface(), b.Field(i).Interface())
		}
	}
	return names
}

// reloadMetrics count the results of reloads.
type reloadMetrics struct {
	reloads metric.Int64Counter
	latest  metric.Int64Gauge
}

// newReloadMetrics creates the instruments; a nil provider measures nothing.
func newReloadMetrics(p metric.MeterProvider) (*reloadMetrics, error) {
	if p == nil {
		p = noop.NewMeterProvider()
	}
	meter := p.Meter("github.com/agentruntime/agentruntime/cmd/runtime")
	reloads, err := meter.Int64Counter("agentruntime.config.reloads", metric.WithUnit("{reload}"),
		metric.WithDescription("Number of times that the configuration was read again."))
	latest, failed := meter.Int64Gauge("agentruntime.config.last_reload.successful", // no unit: Prometheus would add _ratio for "1"
		metric.WithDescription("Whether the configuration that was read last is the one in use."))
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	latest.Record(context.Background(), 1) // alerts need a value before the first reload
	return &reloadMetrics{reloads, latest}, nil
}

// reloaded counts one.
func (m *reloadMetrics) reloaded(ctx context.Context, applied bool) {
	outcome, value := "refused", int64(0)
	if applied {
		outcome, value = "applied", 1
	}
	m.reloads.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
	m.latest.Record(ctx, value)
}
