// Package shipped lists the components that come with the runtime.
package shipped

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/backend"
	a2abackend "github.com/agentruntime/agentruntime/backend/a2a"
	a2acall "github.com/agentruntime/agentruntime/backend/a2a/call"
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
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/ask"
	"github.com/agentruntime/agentruntime/tools/command"
	httptool "github.com/agentruntime/agentruntime/tools/http"
	mcptool "github.com/agentruntime/agentruntime/tools/mcp"
	"go.uber.org/zap"
)

// Components is all that the runtime comes with.
func Components() app.Components {
	return app.Components{
		Kinds: config.Kinds{
			Providers: []model.ProviderKind{scripted.Kind(), openai.Kind(), anthropic.Kind(), google.Kind()},
			Tools:     []tools.Kind{httptool.Kind(), command.Kind(), mcptool.Kind(), ask.Kind()},
			Plugins:   []plugins.Kind{log.Kind()},
		},
		Plugins: []app.Plugin{
			{ID: "permission", Plugin: permission.New()},
		},
		Backends: []func(*zap.Logger) backend.Factory{
			func(logger *zap.Logger) backend.Factory {
				return a2abackend.NewFactory(a2abackend.Settings{Logger: logger})
			},
		},
		Stores: []app.StoreDriver{
			{Name: settings.StoreSQLite, Migrate: sqlite.Migrate, Open: openSQLite, OpenReadOnly: readSQLite},
			{Name: settings.StorePostgres, Shared: true, Migrate: migratePostgres, Open: openPostgres, OpenReadOnly: readPostgres},
			{Name: settings.StoreMemory, Migrate: migrateMemory, Open: openMemory},
		},
		Surfaces: []app.Surface{
			{Name: a2aserver.PushSurface, NewSender: newA2ASender, New: newA2ASurface},
			{Name: "agent_runs", New: newRunsSurface, Scopes: []string{agentruns.ScopeIdentity}},
			{Name: "native", New: newNativeSurface},
		},
		TokenPrefix: agentruns.TokenPrefix,
		TurnTools:   newTurnTools,
	}
}

// localDispatcher is the dispatcher of stores that belong to one process.
func localDispatcher(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error) {
	return local.New(local.Settings{Concurrency: concurrency, Logger: logger}), nil
}

func openSQLite(ctx context.Context, s store.Settings) (*app.Engine, error) {
	st, err := sqlite.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &app.Engine{Store: st, NewDispatcher: localDispatcher}, nil
}

// readSQLite opens a file that another process may be working on. Nothing rings
// then, so that who follows a turn looks now and then.
func readSQLite(ctx context.Context, s store.Settings) (*app.Engine, error) {
	st, err := sqlite.OpenReadOnly(ctx, s)
	if err != nil {
		return nil, err
	}
	return &app.Engine{Store: st}, nil
}

func openPostgres(ctx context.Context, s store.Settings) (*app.Engine, error) {
	if _, err := migratePostgres(ctx, s); err != nil {
		return nil, err
	}
	return readPostgres(ctx, s)
}

// readPostgres opens a database as it is.
func readPostgres(ctx context.Context, s store.Settings) (*app.Engine, error) {
	st, err := postgres.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &app.Engine{Store: st, Bell: st.Bell(), NewDispatcher: func(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error) {
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

func openMemory(_ context.Context, s store.Settings) (*app.Engine, error) {
	return &app.Engine{Store: memory.New(s), NewDispatcher: localDispatcher}, nil
}

// newA2ASender makes what sends the notifications of A2A tasks.
func newA2ASender(f *config.File) (app.WebhookSender, error) {
	c := &f.Server.A2A
	if !c.On() || !c.Push.On() {
		return nil, nil //nolint:nilnil // nobody is told
	}
	return a2aserver.NewPushSender(a2aserver.PushSettings{AllowPrivate: c.Push.AllowPrivate, Key: f.Server.EncryptionBytes()})
}

// newA2ASurface lets the agents of a configuration be reached by A2A.
func newA2ASurface(s app.SurfaceSettings) (server.Surface, error) {
	c := &s.File.Server.A2A
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	settings := a2aserver.Settings{
		Service: s.Service, PublicURL: s.Server.URL(), DefaultAgent: c.DefaultAgent, V03: c.V03, UniqueMessageIDs: c.UniqueMessageIDs,
		Scope: settings.ScopeA2AInvoke, Open: !s.File.Server.Authenticated(), NoPush: !c.Push.On(),
		MaxWait: c.WaitTime(), MaxBody: int64(s.File.Server.Limits.BodyLimit()),
		Organization: c.Organization, OrganizationURL: c.OrganizationURL, GRPCURL: c.GRPCAddress,
		GRPC: c.GRPCListen, GRPCTLS: s.Server.TLS(), WriteTimeout: s.Server.Limits().WriteTimeout,
		Authenticator: s.Server, Enter: s.Server.Enter, Draining: s.Server.Draining, Logger: s.Logger,
	}
	settings.Credentials = func() a2aserver.Credentials {
		accepted := s.Accepted()
		c := a2aserver.Credentials{Keys: accepted.Keys, Issuer: accepted.Issuer}
		if accepted.Clients {
			c.TokenURL = strings.TrimSuffix(s.Server.URL(), "/") + "/api/oauth/token"
		}
		return c
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
func newRunsSurface(s app.SurfaceSettings) (server.Surface, error) {
	c := &s.File.Server.AgentRuns
	if !c.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return agentruns.New(agentruns.Settings{
		Service: s.Service, PublicURL: s.Server.URL(), LocalToolTimeout: c.LocalToolTime(), StrictToolResults: c.StrictToolResults, Logger: s.Logger,
		EncryptionKey: s.File.Server.EncryptionBytes(),
	})
}

// newNativeSurface lets the commands with --server be answered.
func newNativeSurface(s app.SurfaceSettings) (server.Surface, error) {
	if !s.File.Server.Native.On() {
		return nil, nil //nolint:nilnil // it is switched off
	}
	return native.New(native.Settings{Service: s.Service, Logger: s.Logger})
}

// newTurnTools makes the tools that runs over HTTP bring along. A process that
// answers no requests works on such turns, too.
func newTurnTools(f *config.File, logger *zap.Logger) service.TurnTools {
	private := f.Server.AgentRuns.AllowPrivate
	return agentruns.NewTurnTools(agentruns.TurnToolsSettings{
		Logger: logger,
		CallPeer: func(ctx context.Context, c agentruns.PeerCall) (string, error) {
			call := a2acall.Request{
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
