package app

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
)

// newSenders returns each protocol's sender of turn notifications, also for a process that serves
// no requests.
func (a *App) newSenders() (map[string]webhook.Sender, error) {
	made := map[string]webhook.Sender{}
	for _, one := range a.settings.Components.Surfaces {
		if one.NewSender == nil {
			continue
		}
		sender, err := one.NewSender(a.settings.File)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		if sender != nil {
			made[one.Name] = sender
			a.senders = append(a.senders, sender)
		}
	}
	return made, nil
}

// newServer makes the HTTP server, which accepts no credential before the store is
// open.
func (a *App) newServer() error {
	s := &a.settings.File.Server
	settings := serverSettings(s)
	if s.TLS != nil {
		var err error
		if a.certificate, err = newCertificate(s.TLS); err != nil {
			return err
		}
		settings.TLS = a.certificate.tlsConfig()
	}
	if s.Authenticated() {
		a.accepted = auth.NewReplaceable(auth.Chain{}) // none until the store is open
		settings.Authenticator = a.accepted
	}
	settings.Logger, settings.Ready = a.settings.Logger.Named("http"), func(ctx context.Context) error { return a.store.Ping(ctx) }
	settings.ReadyDetail = a.describeReadiness
	settings.LocalScopes = localScopes(s)
	settings.Version = a.settings.Version
	settings.MeterProvider, settings.Metrics = a.settings.MeterProvider, a.settings.Metrics
	var err error
	a.server, err = server.New(settings)
	return err
}

// localScopes returns the additional scopes of callers without credentials: with the web console
// they may read the configuration but not change it.
func localScopes(s *settings.Server) []string {
	if s.Local() && s.ServesConsole() {
		return []string{settings.ScopeConfigRead}
	}
	return nil
}

// mountSurfaces mounts the protocols for the configured callers.
func (a *App) mountSurfaces(ctx context.Context) error {
	if a.server == nil {
		return nil
	}
	f, logger := a.settings.File, a.settings.Logger
	if a.accepted != nil {
		var err error
		if a.credentials, err = newCredentials(a.accepted, &f.Server, a.settings.Components.TokenPrefix, a.store, logger.Named("tokens")); err != nil {
			return err
		}
	}
	if err := a.credentials.mountTokens(ctx, a.server); err != nil {
		return err
	}
	if s := &f.Server; s.EncryptionBytes() == nil && a.keepsCredentials(s) && f.Store.Driver != settings.StoreMemory {
		logger.Warn("server.encryption_key is not set: credentials from clients for tools and notifications are stored unencrypted")
	}
	for _, one := range a.settings.Components.Surfaces {
		s, err := one.New(component.Settings{
			File: f, Server: a.server, Service: a.service, Fleet: a.fleet, Workflows: a.workflows, Agents: a.settings.Components.agents, Version: a.settings.Version, Logger: logger.Named(one.Name),
			Accepted: a.credentials.acceptedKinds, AtEnd: func(end func()) { a.ends = append(a.ends, end) },
		})
		if m, manages := s.(providerproto.Manager); err == nil && manages && a.settings.Components.ManageProviders != nil {
			a.settings.Components.ManageProviders(m)
		}
		if err == nil && s != nil {
			err = a.server.Mount(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	return nil
}

// ServeLines serves one client of a protocol on a stream of lines, with the rights of the
// caller. It needs an app that has started.
func (a *App) ServeLines(ctx context.Context, surface string, caller service.Caller, in io.ReadCloser, out io.WriteCloser) error {
	for _, one := range a.settings.Components.Surfaces {
		if one.Name == surface && one.ServeLines != nil {
			return one.ServeLines(ctx, component.Settings{
				File: a.settings.File, Service: a.service, Fleet: a.fleet, Workflows: a.workflows, Version: a.settings.Version, Logger: a.settings.Logger.Named(surface),
			}, caller, in, out)
		}
	}
	return fmt.Errorf("this program was built without %s over a stream of lines", surface)
}

// keepsCredentials reports whether an available, enabled protocol lets clients leave credentials in
// the store.
func (a *App) keepsCredentials(s *settings.Server) bool {
	return slices.ContainsFunc(a.settings.Components.Surfaces, func(one component.Surface) bool {
		return one.Name == settings.SurfaceAgentRuns && s.AgentRuns.On() || one.Name == settings.SurfaceA2A && s.A2A.On() && s.A2A.Push.On()
	})
}

// serverSettings returns the configured server settings, without credentials and certificates.
func serverSettings(s *settings.Server) server.Settings {
	l := &s.Limits
	return server.Settings{
		Address: s.Address(), PublicURL: s.PublicURL,
		AllowUnauthenticated: s.AllowUnauthenticated, CORSOrigins: s.CORSOrigins,
		Limits: server.Limits{
			MaxBodyBytes: int64(l.BodyLimit()), MaxHeaderBytes: l.HeaderLimit(),
			ReadHeaderTimeout: l.HeaderTime(), ReadTimeout: l.BodyTime(), WriteTimeout: l.WriteTime(), IdleTimeout: l.IdleTime(),
		},
		Rate: server.Rate{PerSecond: s.Rate.PerSecond, Burst: s.Rate.Burst, Concurrency: s.Rate.Concurrency},
	}
}
