package app

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/fleet"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// Fleet returns what keeps revisions; nil before Start.
func (a *App) Fleet() *fleet.Fleet { return a.fleet }

// startFleet makes the store and the runtime agree about the current revision.
func (a *App) startFleet(ctx context.Context, bell dispatch.Bell) error {
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
	if bell != nil {
		settings.Ring = func() { bell.Ring(fleet.BellID) }
	}
	var err error
	if a.fleet, err = fleet.New(settings); err != nil {
		return err
	}
	return a.fleet.Start(ctx, s.File)
}

// describeRevision returns which revision the process runs, for those who ask whether it
// is ready. The server asks once it has started.
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
