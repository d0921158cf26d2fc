package app

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// Options configures Open. All fields except Files and Components have defaults.
type Options struct {
	// Files are the YAML files of the configuration.
	Files []string
	// Components are the components available to the configuration.
	Components Components
	// Agents are agents written in Go; see Components.AddAgents.
	Agents []agents.Definition
	// Configure adds the program's tools, plugins and providers; nil adds nothing.
	Configure func(*builder.AgentRuntimeBuilder)
	// PublicURL is the handler's URL for clients; empty means server.public_url of the
	// configuration, which has no default.
	PublicURL string
	// Version is the program's version; empty means the one in its build
	// information.
	Version string
	// Telemetry observes turns, MeterProvider records the server's metrics, and Metrics answers GET
	// /metrics; each may be nil.
	Telemetry     *telemetry.Telemetry
	MeterProvider metric.MeterProvider
	Metrics       http.Handler
	// Logger logs events and the configuration's warnings; nil drops them.
	Logger *zap.Logger
}

// ConfigError reports an invalid configuration.
type ConfigError struct {
	// Diagnostics are all findings, including errors, in the order of the files.
	Diagnostics diag.List
}

// Error shows each error with its place.
func (e *ConfigError) Error() string {
	text := "the configuration cannot be used"
	for _, d := range e.Diagnostics.Errors() {
		text += "\n"
		if d.File != "" {
			text += d.Place() + ": "
		}
		text += d.Error()
	}
	return text
}

// ErrNoPublicURL reports that neither Options.PublicURL nor server.public_url is set. Agent cards
// need it, because a handler cannot know where it is mounted.
var ErrNoPublicURL = errors.New("server.public_url is required (PublicURL in Go): clients find the agents there")

// Open reads configuration files, verifies that every agent resolves, opens the store and processes
// its turns. Handler serves the configured protocols: server.listen is ignored, but the address for
// A2A over gRPC is opened.
//
// The error is a *ConfigError for an invalid configuration, and ErrNoPublicURL if the agents have
// no public address. Call Shutdown to end the app.
func Open(ctx context.Context, o Options) (*App, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if err := o.Components.AddAgents(o.Agents...); err != nil {
		return nil, err
	}
	file, rt, err := o.buildRuntime(ctx)
	if err != nil {
		return nil, err
	}
	if file.Server.PublicURL = cmp.Or(o.PublicURL, file.Server.PublicURL); file.Server.PublicURL == "" {
		return nil, errors.Join(ErrNoPublicURL, rt.Close())
	}
	a := New(Settings{
		File: file, Components: &o.Components, Version: o.Version,
		MeterProvider: o.MeterProvider, Metrics: o.Metrics, Logger: o.Logger, NewBuilder: o.newBuilder,
	})
	a.release = rt.Close
	if err = a.newServer(); err == nil {
		err = a.Start(ctx, rt)
	}
	if err != nil {
		return nil, errors.Join(err, a.Shutdown(ctx))
	}
	a.keepCurrent(o.Logger)
	return a, nil
}

// buildRuntime reads the files and builds a runtime from their agents.
func (o *Options) buildRuntime(ctx context.Context) (*config.File, *runtime.AgentRuntime, error) {
	file, found, err := config.Load(o.Files, config.Options{Kinds: o.Components.ConfigKinds(), RequireVariables: true})
	if err != nil {
		return nil, nil, err
	}
	warned := &warnings{file: file, logger: o.Logger.Named("config"), known: map[diag.Identity]bool{}}
	b := o.Components.NewBuilder(o.Logger).WithConfig(file).WithTelemetry(o.Telemetry).WithWarnings(warned.addList)
	o.Telemetry.SetTenants(file.Tenants())
	if o.Configure != nil {
		o.Configure(b)
	}
	Learn(ctx, b, StartupToolTime, func(e *builder.DiscoveryError) {
		o.Logger.Warn("discovering remote agents failed", zap.String("source", e.Source), zap.String("problem", file.Redact(e.Err.Error())))
	})
	_, checked := b.Check(ctx)
	if err := ctx.Err(); err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	list, _ := file.CompleteAll(found, checked)
	if list.HasErrors() {
		return nil, nil, errors.Join(&ConfigError{Diagnostics: list}, b.Close())
	}
	warned.logList(list)
	rt, err := b.BuildUnchecked() // Check was the dry run
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return file, rt, nil
}

// newBuilder returns a builder with the program's components.
func (o *Options) newBuilder() *builder.AgentRuntimeBuilder {
	b := o.Components.NewBuilder(o.Logger)
	if o.Configure != nil {
		o.Configure(b)
	}
	return b
}

// warnings logs probable mistakes, each once, except those suppressed by comments in the files.
type warnings struct {
	file   *config.File
	logger *zap.Logger

	mu    sync.Mutex
	known map[diag.Identity]bool
}

// addList logs diagnostics of publishing, such as changed agents of peers.
func (w *warnings) addList(list diag.List) { w.logList(w.file.Complete(nil, list)) }

func (w *warnings) logList(list diag.List) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var fresh diag.List
	for i := range list {
		if id := list[i].Identity(); !w.known[id] {
			w.known[id] = true
			fresh = append(fresh, list[i])
		}
	}
	runtime.LogWarnings(w.logger, fresh)
}

// Learn lists the tools of tool servers and the agents of peers, and queries model servers for
// limits. toolTime limits tool servers; 0 means only their own limits apply. Errors of peers are
// reported.
func Learn(ctx context.Context, b *builder.AgentRuntimeBuilder, toolTime time.Duration, report func(*builder.DiscoveryError)) {
	learning := ctx
	if toolTime > 0 {
		var cancel context.CancelFunc
		learning, cancel = context.WithTimeout(ctx, toolTime)
		defer cancel()
	}
	b.LearnTools(learning)
	b.LearnLimits(ctx)
	asking, cancel := context.WithTimeout(ctx, DiscoveryTime)
	defer cancel()
	for _, e := range b.LearnAgents(asking) {
		report(e)
	}
}

// keepCurrent periodically queries tool servers and peers again and serves the listeners beside the
// handler, until Shutdown.
func (a *App) keepCurrent(logger *zap.Logger) {
	ctx, stop := context.WithCancel(context.Background())
	var kept sync.WaitGroup
	kept.Go(func() { KeepLearningTools(ctx, a.runtime, logger.Named("tools")) })
	kept.Go(func() { keepDiscovering(ctx, a.runtime, logger.Named("discovery")) })
	kept.Go(func() {
		if err := a.Serve(ctx); err != nil {
			logger.Error("serving failed", zap.Error(err))
		}
	})
	a.stop = func() {
		stop()
		kept.Wait()
	}
}
