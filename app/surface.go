package main

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// surface is a protocol that the HTTP server of this program speaks.
type surface struct {
	// name is also that of the protocol's webhooks.
	name string
	// sender makes what tells receivers of the protocol what happens to turns. It is
	// nil for a protocol that tells nobody, and so is what it makes where the
	// configuration leaves that out.
	sender func(*config.File) (webhookSender, error)
	// new makes the surface; a nil surface is one that the configuration leaves
	// out.
	new func(surfaceSettings) (server.Surface, error)
}

// webhookSender tells receivers of one protocol what happens to turns.
type webhookSender interface {
	runtime.WebhookSender
	// Close closes what it holds open, after the last use.
	Close()
}

// surfaceSettings is what a protocol is spoken with.
type surfaceSettings struct {
	file    *config.File
	http    *server.Server
	service *runtime.Service
	logger  *zap.Logger
}

// senders makes what tells receivers of each protocol what happens to turns, also
// for a process that answers no requests itself.
func (p *program) senders(l *loaded, w *work) (map[string]runtime.WebhookSender, error) {
	made := map[string]runtime.WebhookSender{}
	for _, one := range p.surfaces {
		if one.sender == nil {
			continue
		}
		sender, err := one.sender(l.file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		if sender != nil {
			made[one.name] = sender
			w.senders = append(w.senders, sender)
		}
	}
	return made, nil
}

// listen opens the address that a configuration wants requests to be answered at,
// and answers that the server is starting. What is open when it returns an error is
// closed with the work.
func (p *program) listen(ctx context.Context, l *loaded, w *work, k *keeper, seen *observed) error {
	if l.file.Server.Address() == spec.ListenNone {
		return nil
	}
	settings := httpSettings(&l.file.Server)
	var err error
	if l.file.Server.TLS != nil {
		if k.certificate, err = newCertificate(l.file.Server.TLS); err != nil {
			return err
		}
		settings.TLS = k.certificate.config()
	}
	if l.file.Server.Authenticated() {
		w.accepted = server.NewReplaceable(server.Authenticators{}) // nobody, until the store is open
		settings.Authenticator = w.accepted
	}
	settings.Logger, settings.Ready = k.logger.Named("http"), func(ctx context.Context) error { return w.store.Ping(ctx) }
	settings.Version = version()
	settings.MeterProvider, settings.Metrics = seen.meters, seen.scrape
	h, err := server.New(settings)
	if err != nil {
		return err
	}
	if err := h.Listen(ctx); err != nil {
		return err
	}
	w.http = h
	h.BeginStartup()
	k.logger.Info("starting", zap.String("address", h.LocalURL()))
	return nil
}

// mount mounts the protocols, for the callers that a configuration names.
func (p *program) mount(ctx context.Context, l *loaded, w *work, logger *zap.Logger) error {
	if w.http == nil {
		return nil
	}
	if w.accepted != nil {
		var err error
		if w.credentials, err = newCredentials(&l.file.Server, w.store, logger.Named("tokens")); err != nil {
			return err
		}
		w.accepted.Replace(w.credentials.accepted)
	}
	if err := w.credentials.mount(ctx, w.http); err != nil {
		return err
	}
	if s := &l.file.Server; s.EncryptionBytes() == nil && (s.AgentRuns.On() || s.A2A.On() && s.A2A.Push.On()) && l.file.Store.Driver != spec.StoreMemory {
		logger.Warn("there is no server.encryption_key: the store keeps the credentials that clients leave for tools and notifications as they are")
	}
	for _, one := range p.surfaces {
		s, err := one.new(surfaceSettings{file: l.file, http: w.http, service: w.service, logger: logger.Named(one.name)})
		if err == nil && s != nil {
			err = w.http.Mount(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// httpSettings returns what a configuration says about answering requests, but for
// credentials and certificates.
func httpSettings(s *spec.Server) server.Settings {
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
