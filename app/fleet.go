package app

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/tools"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// Fleet returns the manager of revisions; nil before Start.
func (a *App) Fleet() *fleet.Fleet { return a.fleet }

// startFleet makes the store and the runtime agree on the current revision.
func (a *App) startFleet(ctx context.Context, notifier dispatch.Notifier) error {
	s := &a.settings
	logger := s.Logger.Named("fleet")
	settings := fleet.Settings{
		Store: a.store, Runtime: a.runtime, NewBuilder: s.NewBuilder, Logger: logger, MeterProvider: s.MeterProvider,
		Config: config.Options{Kinds: s.Components.ConfigKinds(), RequireVariables: true, Keyed: s.File.Server.Authenticated()},
		Dir:    s.File.BaseDir(), FromStore: s.File.Revisions.FromStore(),
		Learn: func(ctx context.Context, b *builder.AgentRuntimeBuilder) {
			Learn(ctx, b, StartupToolTime, func(e *builder.DiscoveryError) {
				logger.Warn("discovering remote agents failed", zap.String("source", e.Source), zap.String("problem", s.File.Redact(e.Err.Error())))
			})
		},
	}
	if settings.NewBuilder == nil {
		settings.NewBuilder = func() *builder.AgentRuntimeBuilder { return s.Components.NewBuilder(s.Logger) }
	}
	settings.Changed = func() {
		if a.workflows != nil { // they begin after the first revision is current
			a.workflows.Changed()
		}
	}
	settings.Variables = func(tenant string) tools.TenantSource {
		if a.service == nil { // it begins after the first revision is current
			return nil
		}
		return a.service.VariablesOf(tenant)
	}
	if notifier != nil {
		settings.Notify = func() { notifier.Notify(fleet.NotifyID) }
	}
	var err error
	if a.fleet, err = fleet.New(settings); err != nil {
		return err
	}
	if err := a.measureToolServers(s.MeterProvider); err != nil {
		return err
	}
	return a.fleet.Start(ctx, s.File)
}

// describeReadiness returns the process's revision and the state of its tool servers for readiness
// checks. The server calls it once it has started.
func (a *App) describeReadiness() string {
	lines := []string{a.describeRevision()}
	for id, c := range a.toolServers() {
		line := fmt.Sprintf("tool server %s: %s", id, c)
		if c.LoggedOut > 0 {
			line += ", see runtime doctor FILE --mcp " + id
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// toolServers yields the state of the servers that provide tools of the current revision, by ID.
func (a *App) toolServers() iter.Seq2[string, tools.Connections] {
	return func(yield func(string, tools.Connections) bool) {
		for id, bundle := range a.runtime.Revision().Set().Bundles.All() {
			if server, ok := bundle.Source.(tools.ConnectedBundle); ok && !yield(id, server.Connections()) {
				return
			}
		}
	}
}

// measureToolServers makes the instruments for the connections to tool servers.
func (a *App) measureToolServers(p metric.MeterProvider) error {
	if p == nil {
		return nil
	}
	meter := p.Meter("github.com/agentruntime/agentruntime/app")
	observe := func(value func(tools.Connections) int) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			for id, c := range a.toolServers() {
				o.Observe(int64(value(c)), metric.WithAttributes(attribute.String("server", id)))
			}
			return nil
		}
	}
	_, err := meter.Int64ObservableGauge("agentruntime.tool_server.connections",
		metric.WithDescription("Open connections to a server that provides tools."),
		metric.WithInt64Callback(observe(func(c tools.Connections) int { return c.Open })))
	if err != nil {
		return err
	}
	_, err = meter.Int64ObservableGauge("agentruntime.tool_server.failures",
		metric.WithDescription("Failures in a row of the connection to a server that provides tools."),
		metric.WithInt64Callback(observe(func(c tools.Connections) int { return c.Failures })))
	if err != nil {
		return err
	}
	_, err = meter.Int64ObservableGauge("agentruntime.tool_server.logged_out",
		metric.WithDescription("Tenants or subjects that must log in to a server that provides tools."),
		metric.WithInt64Callback(observe(func(c tools.Connections) int { return c.LoggedOut })))
	return err
}

// describeRevision returns which revision the process runs.
func (a *App) describeRevision() string {
	const shown = 12
	r := a.fleet.Running()
	switch {
	case r.Hash == "":
		return "revision not stored"
	case r.Wanted != "":
		return fmt.Sprintf("revision %d (%.*s), behind %.*s", r.Number, shown, r.Hash, shown, r.Wanted)
	default:
		return fmt.Sprintf("revision %d (%.*s)", r.Number, shown, r.Hash)
	}
}
