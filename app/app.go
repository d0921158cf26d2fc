// Package app turns a configuration into running parts: agents, and the store, service and HTTP
// server that run them. Open does it all in one call, for programs that do more than serve. The
// command runtime uses the same parts.
package app

import (
	"net/http"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/schedule"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// Settings configures an App.
type Settings struct {
	// File is a valid configuration, and Components the components available to it.
	File       *config.File
	Components *Components
	// Version is the program's version, which the server reports.
	Version string
	// NewBuilder returns a builder with the program's additions, for configurations published in
	// the store; if nil, it uses only Components.
	NewBuilder func() *builder.AgentRuntimeBuilder
	// MeterProvider records the server's metrics, and Metrics answers GET /metrics; both may be
	// nil.
	MeterProvider metric.MeterProvider
	Metrics       http.Handler
	// Logger is not nil.
	Logger *zap.Logger
}

// openStore is the part of a store that an App uses.
type openStore interface {
	store.Connection
	store.Revocations
	store.Revisions
}

// App runs one configuration. Its lifecycle is New, Listen, Start, Serve, Shutdown; Open does the
// first three.
type App struct {
	settings Settings
	// runtime, service and store are nil until Start, except in an app from Open.
	runtime *runtime.AgentRuntime
	service *service.Service
	store   openStore
	// fleet manages the revisions; nil until Start.
	fleet *fleet.Fleet
	// schedules creates turns when they are due; nil until Start.
	schedules *schedule.Runner
	// workflows runs workflows; nil until Start.
	workflows *workflow.Engine
	// server answers requests; nil if absent.
	server *server.Server
	// accepted checks the server's credentials, and credentials are accepted once the store is
	// open; both are nil if the server requires none.
	accepted    *auth.Replaceable
	credentials *credentials
	// certificate is nil if the server does not use TLS.
	certificate *certificate
	senders     []component.WebhookSender
	// ends are called when the app shuts down.
	ends []func()
	// stop ends background work started by Open, and release frees its resources; both are nil in
	// an app from New.
	stop    func()
	release func() error
	// drained runs once to hand back the turns; drainErr is its error.
	drained  sync.Once
	drainErr error
}

// New returns an idle app.
func New(settings Settings) *App { return &App{settings: settings} }

// Runtime returns the agents; nil before Start.
func (a *App) Runtime() *runtime.AgentRuntime { return a.runtime }

// Service returns the service that stores and runs turns; nil before Start.
func (a *App) Service() *service.Service { return a.service }

// Workflows returns the workflow engine; nil before Start.
func (a *App) Workflows() *workflow.Engine { return a.workflows }

// Server returns the HTTP server; nil without one and before Listen.
func (a *App) Server() *server.Server { return a.server }

// Handler serves all protocols that the configuration enables, for mounting in a program's own HTTP
// server. It requires an app from Open. See server.Handler for mounting it under a prefix.
func (a *App) Handler() http.Handler { return a.server.Handler() }

// Prepare creates the keys, clients and certificate of another configuration. Calling swap makes
// the server accept and present them. Whether the server requires credentials is fixed at its
// start.
func (a *App) Prepare(s *settings.Server) (swap func(), err error) {
	accept, err := a.credentials.prepareSwap(s)
	if err != nil {
		return nil, err
	}
	present, err := a.certificate.prepareSwap(s.TLS)
	if err != nil {
		return nil, err
	}
	return func() {
		accept()
		present()
	}, nil
}

// ServiceSettings returns the settings for turns. The caller sets the remaining fields.
func ServiceSettings(f *config.File) service.Settings {
	t, keep := &f.Turns, &f.Store.Retention
	settings := service.Settings{
		Lease: t.LeaseTime(), Strikes: t.StrikeLimit(), MemoryLimit: memoryLimit(t.MemoryLimit), Indeterminate: backend.Indeterminate(t.Indeterminate),
		InteractionTimeout: t.InteractionTimeout.Std(), OnTimeout: service.TimeoutPolicy(t.OnInteractionTimeout),
		Revision: service.RevisionPolicy(t.Revision), OnRevisionGone: service.GonePolicy(t.OnRevisionGone), Handoff: service.HandoffPolicy(t.Handoff), KeepRequests: t.KeepRequests,
		EncryptionKey: f.Server.EncryptionBytes(),
		Retention:     store.Retention{Sessions: keep.Sessions.Std(), Events: keep.Events.Std(), Keys: keep.KeyLimit(), Usage: keep.UsageLimit(), Revisions: f.Revisions.Retention.Std()},
	}
	return settings
}

// schedulesOf returns the schedules of a configuration.
func schedulesOf(f *config.File) []schedule.Schedule {
	list := make([]schedule.Schedule, len(f.Schedules))
	for i := range f.Schedules {
		s := &f.Schedules[i]
		tenant, subject := s.Owner(&f.Server)
		list[i] = schedule.Schedule{
			ID: s.ID, Cron: s.Cron, TimeZone: s.TimeZone, AgentID: s.Agent, SessionID: s.Session,
			Input: []model.Message{model.User(string(s.Prompt))}, Owner: service.Caller{Tenant: tenant, Subject: subject},
		}
	}
	return list
}
