// Package shipped lists the components that come with the runtime. A program that needs only some
// of them lists those itself and does not import this package.
package shipped

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/backend"
	a2abackend "github.com/agentruntime/agentruntime/backend/a2a"
	providers "github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/azure"
	"github.com/agentruntime/agentruntime/model/bedrock"
	"github.com/agentruntime/agentruntime/model/google"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/model/vertex"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/log"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/plugins/toolsearch"
	"github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/server/agents"
	"github.com/agentruntime/agentruntime/server/agui"
	"github.com/agentruntime/agentruntime/server/aisdk"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/server/console"
	mcpserver "github.com/agentruntime/agentruntime/server/mcp"
	"github.com/agentruntime/agentruntime/server/native"
	openaiserver "github.com/agentruntime/agentruntime/server/openai"
	"github.com/agentruntime/agentruntime/server/provider"
	"github.com/agentruntime/agentruntime/server/sessions"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/agentruntime/agentruntime/store/driver"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/ask"
	"github.com/agentruntime/agentruntime/tools/command"
	httptool "github.com/agentruntime/agentruntime/tools/http"
	mcptool "github.com/agentruntime/agentruntime/tools/mcp"
	"github.com/agentruntime/agentruntime/tools/workspace"
	"go.uber.org/zap"
)

// Components returns all components that come with the runtime.
func Components() app.Components {
	providerKinds, manageProviders := providers.KindsWithManager()
	return app.Components{
		Kinds: config.Kinds{
			Providers: []model.ProviderKind{scripted.Kind(), openai.Kind(), anthropic.Kind(), google.Kind(), azure.Kind(), bedrock.Kind(), vertex.Kind()},
			Tools:     []tools.Kind{httptool.Kind(), command.Kind(), mcptool.Kind(), ask.Kind(), workspace.Kind()},
			Plugins:   []plugins.Kind{log.Kind()},

			AgentProviders: providerKinds,
		},
		Plugins: []app.Plugin{
			{ID: "permission", Plugin: permission.New()},
			{ID: toolsearch.PluginID, Plugin: toolsearch.New()},
		},
		Backends: []func(*zap.Logger) backend.Factory{
			func(logger *zap.Logger) backend.Factory {
				return a2abackend.NewFactory(a2abackend.Settings{Logger: logger})
			},
		},
		Stores:          []driver.Driver{sqlite.Driver(), postgres.Driver(), memory.Driver()},
		Surfaces:        []component.Surface{a2a.Component(), agentruns.Component(), sessions.Component(), agents.Component(), native.Component(), admin.Component(), workflows.Component(), workflows.GestaltComponent(), openaiserver.Component(), agui.Component(), aisdk.Component(), mcpserver.Component(), console.Component()},
		ManageProviders: manageProviders,
		TokenPrefix:     agentruns.TokenPrefix,
		TurnTools:       newTurnTools,
		Provider:        provider.Connect,
	}
}
