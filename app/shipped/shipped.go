package main

import (
	"context"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	a2abackend "github.com/agentruntime/agentruntime/backend/a2a"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/dispatch"
	"github.com/agentruntime/agentruntime/dispatch/local"
	"github.com/agentruntime/agentruntime/dispatch/river"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/google"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/log"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/command"
	httptool "github.com/agentruntime/agentruntime/tools/http"
	mcptool "github.com/agentruntime/agentruntime/tools/mcp"
	"go.uber.org/zap"
)

// components is everything that a configuration can put agents together from.
type components struct {
	// kinds are the values that the type fields of a configuration may have.
	kinds config.Kinds
	// plugins are those that agents may name without declaring them.
	plugins []availablePlugin
	// backends make what reaches the agents that run elsewhere.
	backends []func(*zap.Logger) backend.Factory
	// stores keep sessions and turns.
	stores []storeDriver
	// surfaces are the protocols that the HTTP server speaks.
	surfaces []surface
	// turnTools makes what makes the tools that turns bring along.
	turnTools func(*config.File, *zap.Logger) runtime.TurnTools
}

// availablePlugin is a plugin that comes with the program, and its id.
type availablePlugin struct {
	id     string
	plugin plugins.Plugin
}

// shipped is all that this program comes with.
func shipped() components {
	return components{
		kinds: config.Kinds{
			Providers: []model.ProviderKind{scripted.Kind(), openai.Kind(), anthropic.Kind(), google.Kind()},
			Tools:     []tools.Kind{httptool.Kind(), command.Kind(), mcptool.Kind()},
			Plugins:   []plugins.Kind{log.Kind()},
		},
		plugins: []availablePlugin{
			{"permission", permission.New()},
		},
		backends: []func(*zap.Logger) backend.Factory{
			func(logger *zap.Logger) backend.Factory {
				return a2abackend.NewFactory(a2abackend.Settings{Logger: logger})
			},
		},
		stores: []storeDriver{
			{name: spec.StoreSQLite, migrate: sqlite.Migrate, open: openSQLite, look: readSQLite},
			{name: spec.StorePostgres, shared: true, migrate: migratePostgres, open: openPostgres, look: readPostgres},
			{name: spec.StoreMemory, migrate: migrateMemory, open: openMemory},
		},
		surfaces: []surface{
			{name: a2aserver.PushSurface, sender: newA2ASender, new: newA2ASurface},
			{name: "agent_runs", new: newRunsSurface},
			{name: "native", new: newNativeSurface},
		},
		turnTools: newTurnTools,
	}
}

// known returns the kinds together with the sections that agents may have.
func (c *components) known() config.Kinds {
	k := c.kinds
	k.Sections = resolve.Sections()
	for _, p := range c.plugins {
		k.Sections = slices.Concat(k.Sections, p.plugin.Descriptor().Sections)
	}
	return k
}

// builder returns a builder that knows all components.
func (c *components) builder(logger *zap.Logger) *builder.AgentRuntimeBuilder {
	b := builder.New().WithLogger(logger)
	for _, p := range c.plugins {
		b.WithAvailablePlugin(p.id, p.plugin)
	}
	for _, newBackend := range c.backends {
		b.WithBackend(newBackend(logger))
	}
	return b
}

// localDispatcher is the dispatcher of stores that belong to one process.
func localDispatcher(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error) {
	return local.New(local.Settings{Concurrency: concurrency, Logger: logger}), nil
}

func openSQLite(ctx context.Context, s store.Settings) (*engine, error) {
	st, err := sqlite.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &engine{store: st, dispatcher: localDispatcher}, nil
}

// readSQLite opens a file that another process may be working on. Nothing rings
// then, so that who follows a turn looks now and then.
func readSQLite(ctx context.Context, s store.Settings) (*engine, error) {
	st, err := sqlite.OpenReadOnly(ctx, s)
	if err != nil {
		return nil, err
	}
	return &engine{store: st}, nil
}

func openPostgres(ctx context.Context, s store.Settings) (*engine, error) {
	if _, err := migratePostgres(ctx, s); err != nil {
		return nil, err
	}
	return readPostgres(ctx, s)
}

// readPostgres opens a database as it is.
func readPostgres(ctx context.Context, s store.Settings) (*engine, error) {
	st, err := postgres.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &engine{store: st, bell: st.Bell(), dispatcher: func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error) {
		return river.New(st.Pool(), river.Settings{Concurrency: concurrency, Logger: logger})
	}}, nil
}

// migratePostgres brings the tables of the records up to date, and then those of
// the queue.
func migratePostgres(ctx context.Context, s store.Settings) ([]string, error) {
	records, err := postgres.Migrate(ctx, s)
	if err != nil {
		return nil, err
	}
	st, err := postgres.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	queue, err := river.Migrate(ctx, st.Pool())
	return slices.Concat(records, queue), errors.Join(err, st.Close())
}

// migrateMemory has nothing to do: a store in memory is always new.
func migrateMemory(context.Context, store.Settings) ([]string, error) { return nil, nil }

func openMemory(_ context.Context, s store.Settings) (*engine, error) {
	return &engine{store: memory.New(s), dispatcher: localDispatcher}, nil
}

// newA2ASender makes what sends the notifications of A2A tasks.
func newA2ASender(f *config.File) (webhookSender, error) {
	c := &f.Server.A2A
	if !c.On() || !c.Push.On() {
		return nil, nil //nolint:nilnil // nobody is told
	}
	return a2aserver.NewPushSender(a2aserver.PushSettings{AllowPrivate: c.Push.AllowPrivate, Key: f.Server.EncryptionBytes()})
}

// newA2ASurface lets the agents of a configuration be reached by A2A.
func newA2ASurface(s surfaceSettings) (server.Surface, error) {
	c := &s.file.Server.A2A
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	settings := a2aserver.Settings{
		Service: s.service, PublicURL: s.http.URL(), DefaultAgent: c.DefaultAgent, V03: c.V03, UniqueMessageIDs: c.UniqueMessageIDs,
		Scope: spec.ScopeA2AInvoke, Open: !s.file.Server.Authenticated(), NoPush: !c.Push.On(),
		MaxWait: c.WaitTime(), MaxBody: int64(s.file.Server.Limits.BodyLimit()),
		GRPC: c.GRPCListen, GRPCTLS: s.http.TLS, WriteTimeout: s.http.Limits.WriteTimeout, Authenticator: s.http.Authenticator, Enter: s.http.Enter, Logger: s.logger,
	}
	if c.SigningKeyFile != "" {
		signer, err := a2aserver.LoadSigner(c.SigningKeyFile)
		if err != nil {
			return nil, err
		}
		settings.Signer = signer
	}
	return a2aserver.New(settings)
}

// newRunsSurface lets clients begin runs over HTTP.
func newRunsSurface(s surfaceSettings) (server.Surface, error) {
	c := &s.file.Server.AgentRuns
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return agentruns.New(agentruns.Settings{
		Service: s.service, PublicURL: s.http.URL(), LocalToolTimeout: c.LocalToolTime(), StrictToolResults: c.StrictToolResults, Logger: s.logger,
		EncryptionKey: s.file.Server.EncryptionBytes(),
	})
}

// newNativeSurface lets the commands with --server be answered.
func newNativeSurface(s surfaceSettings) (server.Surface, error) {
	if !s.file.Server.Native.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return native.New(native.Settings{Service: s.service, Logger: s.logger})
}

// newTurnTools makes the tools that runs over HTTP bring along. A process that
// answers no requests works on such turns, too.
func newTurnTools(f *config.File, logger *zap.Logger) runtime.TurnTools {
	private := f.Server.AgentRuns.AllowPrivate
	return agentruns.NewTurnTools(agentruns.TurnToolsSettings{
		Logger: logger,
		CallPeer: func(ctx context.Context, c agentruns.PeerCall) (string, error) {
			call := a2abackend.Call{
				CardURL: c.CardURL, Headers: c.Headers, ContextID: c.ContextID, Text: c.Message, MessageID: c.MessageID, AllowPrivate: private,
			}
			return call.Ask(ctx)
		},
		ConnectMCP: func(ctx context.Context, s agentruns.MCPServer) ([]tools.Member, func(), error) {
			visit := mcptool.Visit{Name: s.Name, URL: s.URL, Headers: s.Headers, Tools: s.Tools, AllowPrivate: private}
			return visit.Members(ctx)
		},
	})
}
