// Command agents is the runtime command with few components: OpenAI models, HTTP tools, the sqlite
// store, and the runtime's own protocol. The binary contains nothing else of the runtime, and
// validate, schema, completion and init know nothing else.
package main

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/store/driver"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/http"
)

//docs:region main

func main() {
	cli.Main(cli.Settings{Name: "agents", Version: "v0.1.0", Components: components()})
}

// components returns all components of this program.
func components() app.Components {
	return app.Components{
		Kinds: config.Kinds{
			Providers: []model.ProviderKind{openai.Kind()},
			Tools:     []tools.Kind{http.Kind()},
		},
		Stores:   []driver.Driver{sqlite.Driver()},
		Surfaces: []component.Surface{native.Component()},
	}
}

//docs:end
