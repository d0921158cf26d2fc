package app

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/fleet"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/settings"
	"go.uber.org/zap"
)

// Surface is a protocol that the HTTP server speaks.
type Surface struct {
	// Name is also that of the protocol's webhooks, and of the section below server that
	// configures it, if it has one.
	Name string
	// NewSender makes what tells receivers of the protocol what happens to turns. It
	// is nil for a protocol that tells nobody, and so is what it makes where the
	// configuration leaves that out.
	NewSender func(*config.File) (WebhookSender, error)
	// New makes the surface; a nil surface is one that the configuration leaves
	// out.
	New func(SurfaceSettings) (server.Surface, error)
	// Scopes are those that routes of the protocol need beside settings.CommonScopes.
	Scopes []string
}

// WebhookSender tells receivers of one protocol what happens to turns.
type WebhookSender interface {
	webhook.Sender
	// Close closes what it holds open, after the last use.
	Close()
}

// SurfaceSettings is what a protocol is spoken with.
type SurfaceSettings struct {
	File    *config.File
	Server  *server.Server
	Service *service.Service
	// Fleet keeps the revisions, and Workflows runs workflows.
	Fleet     *fleet.Fleet
	Workflows *workflow.Engine
	Logger    *zap.Logger
	// AtEnd has a function called when the app ends, once no request is answered and no
	// turn runs any more.
	AtEnd func(func())
	// Accepted returns which credentials the server accepts now: a reload may change
	// them.
	Accepted func() AcceptedCredentials
}

// AcceptedCredentials are the kinds of credentials that a server accepts; none where
// nobody needs one.
type AcceptedCredentials struct {
	// Keys are API keys.
	Keys bool
	// Issuer is whose JSON Web Tokens are accepted; empty is nobody's.
	Issuer string
	// Clients is set when clients get access tokens for their id and secret.
	Clients bool
}

// newSenders makes what tells receivers of each protocol what happens to turns, also
// for a process that answers no requests itself.
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
		a.accepted = auth.NewReplaceable(auth.Chain{}) // nobody, until the store is open
		settings.Authenticator = a.accepted
	}
	settings.Logger, settings.Ready = a.settings.Logger.Named("http"), func(ctx context.Context) error { return a.store.Ping(ctx) }
	settings.ReadyDetail = a.describeRevision
	settings.Version = a.settings.Version
	settings.MeterProvider, settings.Metrics = a.settings.MeterProvider, a.settings.Metrics
	var err error
	a.server, err = server.New(settings)
	return err
}

// mountSurfaces mounts the protocols, for the callers that the configuration names.
func (a *App) mountSurfaces(ctx context.Context) error {
	if a.server == nil {
		return nil
	}
	f, logger := a.settings.File, a.settings.Logger
	if a.accepted != nil {
		var err error
		if a.credentials, err = newCredentials(&f.Server, a.settings.Components.TokenPrefix, a.store, logger.Named("tokens")); err != nil {
			return err
		}
		a.accepted.Replace(a.credentials.accepted)
	}
	if err := a.credentials.mountTokens(ctx, a.server); err != nil {
		return err
	}
	if s := &f.Server; s.EncryptionBytes() == nil && a.keepsCredentials(s) && f.Store.Driver != settings.StoreMemory {
		logger.Warn("there is no server.encryption_key: the store keeps the credentials that clients leave for tools and notifications as they are")
	}
	for _, one := range a.settings.Components.Surfaces {
		s, err := one.New(SurfaceSettings{
			File: f, Server: a.server, Service: a.service, Fleet: a.fleet, Workflows: a.workflows, Logger: logger.Named(one.Name),
			Accepted: a.credentials.acceptedKinds, AtEnd: func(end func()) { a.ends = append(a.ends, end) },
		})
		if err == nil && s != nil {
			err = a.server.Mount(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	return nil
}

// keepsCredentials reports whether clients may leave credentials in the store, by a
// protocol that the program has and the configuration switches on.
func (a *App) keepsCredentials(s *settings.Server) bool {
	for _, one := range a.settings.Components.Surfaces {
		switch one.Name {
		case settings.SurfaceAgentRuns:
			if s.AgentRuns.On() {
				return true
			}
		case settings.SurfaceA2A:
			if s.A2A.On() && s.A2A.Push.On() {
				return true
			}
		}
	}
	return false
}

// serverSettings returns what a configuration says about answering requests, but for
// credentials and certificates.
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
